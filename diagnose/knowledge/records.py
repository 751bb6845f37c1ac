"""The typed records of ``content/``: one file, one record. Fields without a default are required; see CONTRIBUTING.md."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from diagnose.conditions import Conditions
from diagnose.knowledge.hardware import Gpu, Model
from diagnose.knowledge.record import Record
from diagnose.vocabulary import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Detect:
    """How a framework is recognised. Each list holds literals; ``names`` (in prose) are the weakest evidence.

    ``unless`` are literals whose presence anywhere rules the framework out. Of frameworks with evidence of the same
    strength the lower ``rank`` wins (a fork before its base); an equal rank is a tie, and a tie is a question.
    """

    commands: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    rank: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a framework. Either ``fact`` (with the unit of the written number) or ``values``: written word → facts.

    ``negated`` turns a yes/no around. ``above`` turns a number into a yes/no: true when it is above that.
    ``dead`` says why the key has no effect (then no lever may use it). ``hidden`` keys are read but never written by a lever.
    ``new_in`` says where a new one may be written: in the framework's own shapes (""), in a ``command`` alone since a call in
    Python does not take it, or ``nowhere`` since it belongs to the launcher in front of the script.
    """

    key: str
    aliases: tuple[str, ...] = ()
    fact: str = ""
    unit: str = ""
    values: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    negated: bool = False
    above: float | None = None
    since: str = ""
    until: str = ""
    when: Conditions = field(default_factory=dict)
    dead: str = ""
    hidden: bool = False
    new_in: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """Facts that hold when nothing sets them, each in the unit of the key that sets it. Later entries outrank earlier ones.

    ``script`` is a literal whose presence in the text means that a shipped script or example file is used.
    """

    facts: Mapping[str, Value]
    script: str = ""
    since: str = ""
    until: str = ""
    when: Conditions = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """Something that stays in a pool during phases. Entries add up; the same resident twice in a phase counts once."""

    what: str
    phases: tuple[str, ...]
    pool: str = "gpu"
    since: str = ""
    until: str = ""
    when: Conditions = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """Named switches of the vocabulary. Of several entries that hold, the last one that names a switch counts."""

    does: Mapping[str, Value]
    since: str = ""
    until: str = ""
    when: Conditions = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseFrame:
    """A word of a traceback or a remote call that settles the phase: a function's name, with a part of its path if needed.

    ``inside`` is a function that must stand further out in the same traceback: the same pass serves several phases.
    """

    function: str
    phase: str
    path: str = ""
    inside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A text and what must be read from it; each is a test. ``absent`` facts must not be found."""

    says: str
    text: str
    facts: Mapping[str, Value] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    matches: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework(Record):
    detect: Detect
    phases: tuple[str, ...]
    keys: tuple[Key, ...] = ()
    defaults: tuple[Default, ...] = ()
    residents: tuple[Resident, ...] = ()
    behaviours: tuple[Behaviour, ...] = ()
    frames: tuple[PhaseFrame, ...] = ()
    examples: tuple[Example, ...] = ()
    newest: str = ""
    package: str = ""
    config_shape: str = "override"
    fallback: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """A named group of a pattern: the fact that it gives and the unit its text really means (``printed`` = as the word says)."""

    fact: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature(Record):
    """A message family. All ``literals`` must stand in the line (lower case); ``patterns`` add captures, one without a group must match.

    ``strength``: 3 = the program's own words, 2 = a strong sign, 1 = a person's words. ``phase`` where the message alone settles it.
    ``gives`` are facts that the words alone make known; with kind "other" they tell no failure.
    """

    kind: str
    literals: tuple[tuple[str, ...], ...]
    patterns: tuple[re.Pattern[str], ...] = ()
    captures: Mapping[str, Capture] = field(default_factory=dict)
    unless: tuple[str, ...] = ()
    strength: int = 3
    phase: str = ""
    gives: Mapping[str, Value] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeverChange:
    """What a lever does to a fact: ``scale`` by a factor (``at_least``/``at_most`` bound it), ``set`` to a value, ``step`` by an amount."""

    fact: str
    op: str
    by: float | None = None
    to: Value | None = None
    at_least: float | None = None
    at_most: float | None = None


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
    Lower ``order`` comes first; the first of ``ranks`` that holds replaces it. With ``only_ranked`` one of them must hold.
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
    keyless: bool = False
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    value: str
    title: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Record):
    """The words for a fact: how to ask, how to recognise each answer, how to find out. Lower ``rank`` is asked first."""

    fact: str
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
    """A remedy in a case: ``worked`` true, false, or absent when it was only suggested. ``by`` reporter, maintainer or other."""

    lever: str
    detail: str
    by: str
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


FRONT_MATTER_KINDS: dict[str, type[Record]] = {
    "frameworks": Framework,
    "signatures": Signature,
    "levers": Lever,
    "gpus": Gpu,
    "models": Model,
    "questions": Question,
    "cases": Case,
}
