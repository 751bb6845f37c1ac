"""Cards that a message rules out: its capacity is not that of the card that the words name, which then is one of another machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from diagnose.facts.hardware.cards import Mention
from diagnose.knowledge.hardware import Gpu
from diagnose.types import Fact

_NEAR = 0.1  # our choice: error correction and the driver take less of what is sold, and no two sizes are as near
# what a slice of a card holds of it (NVIDIA's MIG user guide: profiles of an eighth, a quarter and a half of the memory)
_SLICES = (1 / 8, 1 / 4, 1 / 2)
# cards that are rebuilt with twice the memory (content/gpus/rtx-4090.md, rtx-2080-ti.md, rtx-3080.md)
_REBUILT = "RTX"


def can_be(gpu: Gpu, printed: Fact | None) -> bool:
    """Whether a card of this kind, or a slice of one, may show the capacity that was printed."""
    if printed is None or not gpu.sizes:
        return True
    parts = (*_SLICES, 1, *((2,) if gpu.title.startswith(_REBUILT) else ()))
    sizes = {float(sold) for sold in gpu.sizes} | set(gpu.sizes.values())
    return any(_near(float(printed.value), part * size) for part in parts for size in sizes)


def possible(said: Sequence[Mention], printed: Fact | None, gpus: Mapping[str, Gpu]) -> list[Mention]:
    """The mentions of cards that may have printed it, without a size that is below it."""
    if printed is None:
        return list(said)
    size = float(printed.value)
    sized = [replace(one, size=None) if _of_another(one, size) else one for one in said]
    return [one for one in sized if not _below(one, size) and _may(one, size, printed, gpus)]


def known(table: Mapping[str, Fact], printed: Fact | None, gpus: Mapping[str, Gpu]) -> dict[str, Fact]:
    """The facts of a table, without a card that it cannot be, whose size is another's too."""
    card = table.get("gpu_model")
    gpu = next((gpu for gpu in gpus.values() if card is not None and gpu.title == card.value), None)
    lost = () if gpu is None or can_be(gpu, printed) else ("gpu_model", "gpu_mem_gib")
    return {id: fact for id, fact in table.items() if id not in lost}


def _may(one: Mention, size: float, printed: Fact, gpus: Mapping[str, Gpu]) -> bool:
    return (one.size is not None and _near(size, one.size)) or not one.gpu or can_be(gpus[one.gpu], printed)


def _of_another(one: Mention, size: float) -> bool:
    """Whether the size is not that of the card: below it behind a name; without one, none of which that much or a slice is printed."""
    if one.gpu or one.size is None:
        return _below(one, size)
    return not _below(one, size) and not any(_near(size, part * one.size) for part in (*_SLICES, 1))


def _below(one: Mention, size: float) -> bool:
    """Whether the size that is told is too small: of a card a part may be printed, and no more than it holds."""
    return one.size is not None and size > one.size * (1 + _NEAR)


def _near(size: float, other: float) -> bool:
    return abs(size - other) <= _NEAR * other
