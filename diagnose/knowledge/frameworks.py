"""What a framework file holds: its marks, keys, defaults, residents, behaviours, frames, forks and what tells its version."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from diagnose.conditions import Conditions, holds, in_range, told_version
from diagnose.knowledge.record import Example, Record
from diagnose.vocabulary import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Detect:
    """How a framework is recognised. Each list holds literals; ``names`` (in prose) are the weakest evidence.

    ``together`` are keys that others have too, of which all of one list are its mark. ``unless`` are literals whose presence anywhere
    rules the framework out. Of frameworks with evidence of the same strength the lower ``rank`` wins (a fork before its base); an equal
    rank is a tie, and a tie is a question. Of the commands those of ``idle`` train nothing, and those of ``serves`` run an engine for a
    training elsewhere. ``shares`` are marks of the base that this is a copy of, which show that only where this is not named as running.
    """

    commands: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    paths: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    shares: tuple[str, ...] = ()
    rank: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a framework. Either ``fact`` (with the unit of the written number) or ``values``: written word → facts.

    ``negated`` turns a yes/no around. ``above`` turns a number into a yes/no: true when it is above that. ``product`` is a pattern with
    one group: the number is the product of those that it finds in a word such as ``x:d4p1t2``, behind the colon; ``part`` tells which part
    of ``x:d4+y:d2`` is meant. ``dead`` says why the key has no effect. ``note`` says what a key changes that no fact tells. ``hidden``
    keys are read but never written by a lever. A ``switch`` is a flag that takes no word behind it. ``along`` names, by the written word
    (``*``: any), keys without which the framework refuses it, each with its own word. ``alike`` names keys of other roles that must have
    the same word, each with the yes/no fact that the role is there: then it is written also where the paste does not set it (""; only
    there). ``leads`` names those whose word is in force for all where they differ, and since which version. ``times`` spells the key whose
    number, times this one's, is cards that stay. ``new_in`` says where a new one may be written: in the framework's own shapes (""), in a
    ``command`` alone since a call in Python takes none (``call`` says by the word what it takes instead), in a ``file`` alone that the
    command only names, ``nowhere`` (a launcher's; under another, ``call``), its ``server``, none new (a ``script``'s). ``unnamed``: ++."""

    key: str
    aliases: tuple[str, ...] = ()
    fact: str = ""
    unit: str = ""
    values: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    negated: bool = False
    above: float | None = None
    product: re.Pattern[str] | None = None
    part: re.Pattern[str] | None = None
    since: str = ""
    until: str = ""
    when: Conditions = field(default_factory=dict)
    dead: str = ""
    note: str = ""
    hidden: bool = False
    switch: bool = False
    along: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    alike: Mapping[str, str] = field(default_factory=dict)
    leads: Mapping[str, str] = field(default_factory=dict)
    times: tuple[str, ...] = ()
    new_in: str = ""
    call: Mapping[str, str] = field(default_factory=dict)
    unnamed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Keys that only some of a framework's programs take: heads of paths, and when a lever may write what begins so."""

    keys: tuple[str, ...]
    when: Conditions


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """Facts that the framework's own checks refuse together: no lever may bring them together. ``says`` is for people.

    Of what it ``lacks`` altogether: a run that has them is not one of this framework as it is, and nothing is estimated; such a one is
    told in ``chinese`` too.
    """

    when: Conditions
    says: str
    chinese: str = ""
    since: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """Sizes that the framework refuses unless they are equal, by the keys that set them: a lever moves them together."""

    keys: tuple[str, ...]
    since: str = ""
    until: str = ""
    when: Conditions = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """Facts that hold when nothing sets them, each in the unit of the key that sets it. Later entries outrank earlier ones.

    ``script`` is a literal of a shipped script that is used. ``file``: it names a file of settings and a model, which outrank what the
    code sets; what is pasted whole in its place counts alone. ``excerpt``: also where a part of a command is pasted. ``whole``: only where
    the whole command or file is. ``own_script``: only where a whole script is that trains a model itself, and no line holds one of
    ``unless``. ``fork``: the only one it holds for. ``why``: what it rests on instead of the code; ``assumed``: nobody read it there.
    """

    facts: Mapping[str, Value]
    why: str = ""
    assumed: bool = False
    script: str = ""
    file: bool = False
    excerpt: bool = False
    whole: bool = False
    own_script: bool = False
    unless: tuple[str, ...] = ()
    fork: str = ""
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

    ``inside`` must stand further out in its traceback, at a ``line`` with this part; ``process`` is in the name of what prints the frame.
    """

    function: str
    phase: str
    path: str = ""
    inside: str = ""
    line: str = ""
    process: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionMark:
    """A literal of a log, a path or a flag that only versions of a range write; ``likely``: others take it as well."""

    literal: str
    since: str = ""
    until: str = ""
    likely: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Where a function stood: release → its first and last line in the file that ends like ``path``."""

    path: str
    function: str
    at: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """A trainer that is read by the keys of the file it stands in; in the plain file one whose keys nobody has told us.

    ``version`` is the version of the base that it froze, ``says`` what differs, ``facts`` its own defaults, each in the unit of the key
    that sets it, ``does`` the behaviours in which it differs, ``before`` those of its releases before one. A name counts as its mark in
    a value or a path, where the base is marked too. What ``trains_elsewhere``, at a service or on the processor, is not estimated.
    ``ignores``: keys of the base that it never reads; ``fixed``: facts without a choice; ``stages``: steps of its recipe; ``written``: one
    of the plain file with keys of its own, which a command takes as ``config_shape`` says (``dashed``: no underscores; ``file``: none).
    """

    id: str
    title: str
    source: str
    detect: Detect
    says: str
    version: str = ""
    trains_elsewhere: bool = False
    written: bool = False
    config_shape: str = ""
    stages: int = 0
    ignores: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    facts: Mapping[str, Value] = field(default_factory=dict)
    does: Mapping[str, Value] = field(default_factory=dict)
    before: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Record):
    """What one file tells of a framework, and of those of ``also``: the tables of which every one of its files may hold rows."""

    also: tuple[str, ...] = ()
    keys: tuple[Key, ...] = ()
    scopes: tuple[Scope, ...] = ()
    clashes: tuple[Clash, ...] = ()
    lacks: tuple[Clash, ...] = ()
    ties: tuple[Tie, ...] = ()
    defaults: tuple[Default, ...] = ()
    residents: tuple[Resident, ...] = ()
    behaviours: tuple[Behaviour, ...] = ()
    frames: tuple[PhaseFrame, ...] = ()
    examples: tuple[Example, ...] = ()
    forks: tuple[Fork, ...] = ()
    marks: tuple[VersionMark, ...] = ()
    code: tuple[Code, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework(Part):
    """A trainer. ``releases`` are its versions with their days, oldest first; ``newest`` is the newest version that was read.

    ``sections`` are parts of its configuration files that hold the same keys as the command; before ``dotted_since`` its keys had no
    dots. ``parts`` are its files as they stand, its own first, where it has several (diagnose/knowledge/parts.py). ``critic_rare``: why a
    run of which little is shown is taken to sample groups, though PPO is the default."""

    detect: Detect
    phases: tuple[str, ...]
    sections: tuple[str, ...] = ()
    dotted_since: str = ""
    releases: Mapping[str, datetime.date] = field(default_factory=dict)
    newest: str = ""
    package: str = ""
    config_shape: str = "override"
    fallback: bool = False
    critic_rare: str = ""
    parts: tuple[Part, ...] = field(default=(), metadata={"written": False})

    def __hash__(self) -> int:
        """Of the name alone: what follows from its keys is looked up by it in every diagnosis."""
        return hash(self.slug)

    def takes(self, key: Key, values: Mapping[str, Value]) -> bool:
        """Whether the program that runs takes the key: no scope of its says otherwise."""
        return all(holds(one.when, values) is not False for one in self.scopes if key.key.startswith(one.keys))

    def tied(self, key: str, values: Mapping[str, Value]) -> frozenset[str]:
        """The keys whose sizes must be what this key’s is, itself among them."""
        version = told_version(values)
        found = (tie for tie in self.ties if in_range(tie.since, tie.until, version) and holds(tie.when, values))
        return frozenset(one for tie in found if key in tie.keys for one in tie.keys)

    def clash(self, before: Mapping[str, Value], after: Mapping[str, Value]) -> Clash | None:
        """What a change brings together that the framework refuses; None where it is so already or an open fact decides."""
        version = told_version(after)
        found = (one for one in self.clashes if in_range(one.since, one.until, version) and holds(one.when, after))
        return next((one for one in found if not holds(one.when, before)), None)

    def lacking(self, values: Mapping[str, Value]) -> Clash | None:
        """What the run is said to do that no version of this framework does, or not this one."""
        version = told_version(values)
        found = (one for one in self.lacks if in_range(one.since, one.until, version) and holds(one.when, values))
        return next(found, None)

    def told_by_keys(self) -> frozenset[str]:
        """The facts that any of its keys tells, in whatever version."""
        words = (facts for key in self.keys for facts in key.values.values())
        return frozenset(key.fact for key in self.keys).union(*words)

    def words_of_keys(self, fact: str) -> frozenset[Value]:
        """All values that its keys can give a fact; none where a key takes any word, or none tells it."""
        if any(key.fact == fact for key in self.keys):
            return frozenset()
        return frozenset(facts[fact] for key in self.keys for facts in key.values.values() if fact in facts)

    @property
    def usual_strategy(self) -> Value | None:
        """How it shards where nothing says so; None where that is never left open."""
        return next((one.facts["strategy"] for one in self.defaults if "strategy" in one.facts and not one.when), None)
