"""The small picture of a case: the peak of each phase against the ceiling, 104 × 44 units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from diagnose.vocabulary import PHASES, POOL_OF_KIND

WIDTH, BASE, CEILING, TOP = 104.0, 42.0, 11.0, 1.0


@dataclass(frozen=True)
class Bar:
    """One phase: its part up to the ceiling, and what stands above it."""

    x: float
    y: float
    width: float
    height: float
    over: float
    peak: bool

    @property
    def over_y(self) -> float:
        return round(CEILING - self.over, 1)


@dataclass(frozen=True)
class Mini:
    """``ceiling`` is None where the capacity is not known."""

    bars: tuple[Bar, ...]
    ceiling: float | None
    label: str


def mini(result: Mapping[str, Any], kind: str) -> Mini | None:
    """The picture of the pool that failed, or of the other one when that alone is estimated; None without an estimate."""
    wanted = POOL_OF_KIND.get(kind, "gpu")
    pool = result.get(wanted) or result.get("host" if wanted == "gpu" else "gpu")
    if not pool:
        return None
    sizes = {phase["phase"]: float(phase["gib"]) for phase in pool["phases"]}
    limit = pool["limit"] or pool["capacity"]
    whole = limit or max(sizes.values()) or 1.0
    slot = WIDTH / len(sizes)
    bars = []
    for place, (phase, size) in enumerate(sizes.items()):
        height = min(size / whole, 1.0) * (BASE - CEILING)
        over = min(max(size / whole - 1.0, 0.0) * (BASE - CEILING), CEILING - TOP)
        box = (round(place * slot + 1, 1), round(BASE - height, 1), round(slot - 2, 1), round(height, 1))
        bars.append(Bar(*box, over=round(over, 1), peak=phase == pool["peak"]))
    words = PHASES.get(pool["peak"], pool["peak"])
    label = f"Peak {sizes[pool['peak']]:,.1f} GiB in {words}" + (f", limit {limit:,.1f} GiB" if limit else "")
    return Mini(tuple(bars), CEILING if limit else None, label)
