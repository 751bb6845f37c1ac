"""What comes of a lever on a run: a trial with its figures, or a refusal with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.knowledge.records import Lever
from diagnose.types import Change, Facts, PhaseEstimate

POOL_WORDS = {"gpu": "GPU memory", "host": "host RAM"}


@dataclass(frozen=True, slots=True)
class Trial:
    """What a lever does. Without figures (``after`` None) its changes are the smallest step and nothing is computed.

    ``sure`` are the changes of the first further step that fits with its whole band, where this one is too close to call.
    """

    lever: Lever
    facts: Facts
    changes: tuple[Change, ...]
    after: PhaseEstimate | None = None
    verdict: str = "unknown"
    other_pool: tuple[int, int] | None = None
    other_verdict: str = ""
    sure: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a lever is no help here: ``reason`` as NotAdvised names it, ``why`` in words.

    ``shifts``: it lowers what fails, but something else runs out for it; a smaller step may not.
    """

    reason: str
    why: str
    shifts: bool = False
