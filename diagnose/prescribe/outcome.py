"""What comes of a lever on a run: a trial with its figures, or a refusal with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.conditions import version
from diagnose.knowledge.advisory import Advisory, Point
from diagnose.knowledge.records import Lever
from diagnose.types import CacheRoom, Change, Fact, Facts, PhaseEstimate

POOL_WORDS = {"gpu": "GPU memory", "host": "host RAM"}


@dataclass(frozen=True, slots=True)
class Trial:
    """What a lever does. Without figures (``after`` None) its changes are the smallest step and nothing is computed.

    ``sure`` are the changes of the first further step that fits with its whole band, where this one is too close to call.
    ``room`` is what the engine's start leaves its cache before and after, where that is what failed; ``worsens`` the phase that has
    no room as it is and less with that change.
    """

    lever: Lever
    facts: Facts
    changes: tuple[Change, ...]
    after: PhaseEstimate | None = None
    verdict: str = "unknown"
    other_pool: tuple[PhaseEstimate, PhaseEstimate] | None = None
    other_verdict: str = ""
    sure: tuple[Change, ...] = ()
    room: tuple[CacheRoom, CacheRoom] | None = None
    worsens: PhaseEstimate | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a lever is no help here: ``reason`` as NotAdvised names it, ``why`` in words.

    ``shifts``: it lowers what fails, but something else runs out for it; a smaller step may not.
    """

    reason: str
    why: str
    shifts: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """What one move of one package mends, the first named first; ``at`` is the version that the run has."""

    advisories: tuple[Advisory, ...]
    at: Fact
    undecided: bool

    @property
    def first(self) -> Advisory:
        return self.advisories[0]

    @property
    def target(self) -> Point:
        """The version with which all of them are mended: the newest to move up to, the oldest to go back to."""
        points = [advisory.target for advisory in self.advisories]
        named = [point for point in points if point.version]
        if not named:
            return points[0]
        return (max if self.first.fixed else min)(named, key=lambda point: version(point.version))

    @property
    def change(self) -> Change:
        """The package, the version that was read, if one was, and the one to move to."""
        read = None if self.at.origin in ("assumed", "derived") else str(self.at.value)
        return Change("", self.first.package, read, self.target.name, self.at.span)
