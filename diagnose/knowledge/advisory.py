"""The record of an advisory: a memory fault or change of one package, in which versions it stands, and where to move."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

from diagnose.conditions import Conditions
from diagnose.knowledge.record import Record
from diagnose.vocabulary import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point of a package's history: a release, or a commit that no release holds yet, with its day. ``link`` shows the change."""

    version: str = ""
    date: datetime.date | None = None
    commit: str = ""
    link: str = ""

    @property
    def name(self) -> str:
        """The version, or the commit with its day where there is none."""
        return self.version or " of ".join(part for part in (f"commit {self.commit}", str(self.date or "")) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """The one setting that does as much as the move; ``key`` as it is written."""

    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisoryExample:
    """A paste and what becomes of it: ``gives`` prescribed, check (the version is not known) or nothing."""

    says: str
    text: str
    gives: str
    answers: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advisory(Record):
    """``package`` as pip writes it, or a framework's id; versions from ``introduced`` on and before ``fixed`` have the fault.

    Without ``fixed`` the way is back to ``last_good``. ``lever`` is the kind of move. All of ``when`` must hold; it names the
    kinds of failure. Of ``signatures`` one must have matched; of ``families`` the model must be one. ``moves`` are facts that
    change with the version, for the estimate. ``order`` is its place among the levers: 4 and below only where the symptom
    itself speaks for it. ``find_out`` is the command that tells the version, where pip does not know the package by that name.
    """

    package: str
    lever: str
    when: Conditions
    introduced: Point = field(default_factory=Point)
    fixed: Point | None = None
    last_good: Point | None = None
    symptom: str = ""
    find_out: str = ""
    signatures: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    flag: Flag | None = None
    moves: Mapping[str, Value] = field(default_factory=dict)
    order: int = 10
    examples: tuple[AdvisoryExample, ...] = ()

    @property
    def target(self) -> Point:
        """Where to move: the release or commit that mends it, else the last good one."""
        return self.fixed or self.last_good or Point()

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases in which the fault shows, where its condition names any."""
        named = self.when.get("phase", ())
        return (named,) if isinstance(named, str) else tuple(named)

    @property
    def addresses(self) -> frozenset[str]:
        """Every address on which the record rests."""
        points = (self.introduced, self.fixed, self.last_good)
        return frozenset((*self.sources, *(point.link for point in points if point and point.link)))
