"""The typed records of ``content/``: one file, one record. Fields without a default are required; see CONTRIBUTING.md."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from diagnose.conditions import Conditions
from diagnose.knowledge.advisory import Advisory
from diagnose.knowledge.dataset import Dataset
from diagnose.knowledge.frameworks import Behaviour, Default, Detect, Fork, Framework, Key, PhaseFrame, Resident
from diagnose.knowledge.hardware import Gpu, Model
from diagnose.knowledge.log import Log
from diagnose.knowledge.record import Example, Record
from diagnose.vocabulary import Value

__all__ = [
    "FRONT_MATTER_KINDS",
    "Advisory",
    "Behaviour",
    "Capture",
    "Case",
    "Claim",
    "Default",
    "Detect",
    "Example",
    "Fix",
    "Fork",
    "Framework",
    "Guide",
    "Key",
    "Lever",
    "LeverChange",
    "LeverRank",
    "Option",
    "PhaseFrame",
    "Question",
    "Resident",
    "Signature",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """A named group of a pattern: the fact that it gives and the unit its text really means (``printed`` = as the word says)."""

    fact: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature(Record):
    """A message family. All ``literals`` must stand in the line (lower case); ``patterns`` add captures, one without a group must match.

    ``strength``: 3 = the program's own words, 2 = a strong sign, 1 = a person's words. ``phase`` where the message alone settles it.
    ``gives`` are facts that the words alone make known; with kind "other" they tell no failure. ``leaves`` names the values of a fact
    that a line leaves open, likeliest first. ``presumed`` says why the kind is only likely: it is then assumed and asked for. ``usual``
    is the message that most people see of its kind. ``witness``: of one who saw a process die on the host, so that what the driver tells
    other processes behind it follows from that. ``not_memory`` says, of a failure that is none of memory, what it is and what to do.
    ``ends``: it says who ended the run, so that no kind stands that a signal alone makes likely or that a lost process leaves open.
    ``apart``: it is of a process beside the training, whose memory no other words of the same clause, or of its traceback, speak of.
    ``state``: it shows how things stood, which tells a failure only where something else in the text says that there was one.
    ``cues``: of a person's words for a phase, what a clause that tells of the failure holds where it speaks of that phase.
    """

    kind: str
    literals: tuple[tuple[str, ...], ...]
    patterns: tuple[re.Pattern[str], ...] = ()
    captures: Mapping[str, Capture] = field(default_factory=dict)
    unless: tuple[str, ...] = ()
    strength: int = 3
    phase: str = ""
    gives: Mapping[str, Value] = field(default_factory=dict)
    leaves: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    presumed: str = ""
    usual: bool = False
    witness: bool = False
    not_memory: str = ""
    ends: bool = False
    apart: bool = False
    state: bool = False
    cues: tuple[re.Pattern[str], ...] = ()
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeverChange:
    """What a lever does to a fact: ``scale`` by a factor (``at_least``/``at_most`` bound it), ``set`` to a value, ``step`` by an amount.

    ``unset``: the limit to set where nobody sets one, once all else that the lever asks for is known. ``phases``: where it acts, if the
    framework has a key for it; there it stands for the changes that name no phase, and elsewhere it is left out.
    """

    fact: str
    op: str
    by: float | None = None
    to: Value | None = None
    at_least: float | None = None
    at_most: float | None = None
    unset: Value | None = None
    phases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeverRank:
    """Where a lever stands in a situation; ``when`` may name facts and signs. ``why`` is what in the situation speaks for it."""

    when: Conditions
    order: int
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever(Record):
    """A remedy. ``results``: same, may_change. ``cost`` and the rest are words for people. ``pools`` it can help.

    ``on`` are conditions under which it is on already; ``keyless`` levers change nothing that a configuration holds.
    Lower ``order`` comes first; the first of ``ranks`` that holds replaces it. With ``only_ranked`` one of them must hold;
    ``only_advised`` ones are said only where an advisory names the version. One that ``frees_unused`` wins nothing but memory that
    torch holds and does not use. One may save nothing alone and be what lets another go further: that lever's slug is ``makes_room_for``.
    """

    pools: tuple[str, ...]
    changes: tuple[LeverChange, ...] = ()
    when: Conditions = field(default_factory=dict)
    on: Conditions = field(default_factory=dict)
    results: str = "same"
    cost: str = ""
    verify: str = ""
    undo: str = ""
    order: int = 50
    ranks: tuple[LeverRank, ...] = ()
    only_ranked: bool = False
    only_advised: bool = False
    frees_unused: bool = False
    makes_room_for: str = ""
    keyless: bool = False
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One answer to choose. It is left out where ``when`` is known not to hold."""

    value: str
    title: str
    hint: str = ""
    when: Conditions = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Record):
    """The words for a fact: how to ask, how to recognise each answer, how to find out. Lower ``rank`` is asked first.

    It is not asked where ``when`` is known not to hold.
    """

    fact: str
    when: Conditions = field(default_factory=dict)
    hint: str = ""
    options: tuple[Option, ...] = ()
    find_out: str = ""
    rank: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something that is said of a case. ``verdict``: confirmed, contradicted, without_ground, suggested."""

    text: str
    verdict: str
    ground: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A remedy in a case: ``worked`` true, false, or absent when it was only suggested. ``by`` reporter, maintainer or other.

    ``advisory`` is the record that names the version, where the remedy was that very move.
    """

    lever: str
    detail: str
    by: str
    advisory: str = ""
    worked: bool | None = None
    facts: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(Record):
    facts: Mapping[str, Value]
    summary: str = ""
    claims: tuple[Claim, ...] = ()
    fixes: tuple[Fix, ...] = ()
    config: Mapping[str, Value] = field(default_factory=dict)
    solved: bool | None = None
    date: datetime.date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide(Record):
    """A piece of explanation; ``summary`` is its first sentence in lists."""

    summary: str = ""


FRONT_MATTER_KINDS: dict[str, type[Record]] = {
    "frameworks": Framework,
    "signatures": Signature,
    "logs": Log,
    "levers": Lever,
    "advisories": Advisory,
    "gpus": Gpu,
    "models": Model,
    "datasets": Dataset,
    "questions": Question,
    "cases": Case,
    "guides": Guide,
}
