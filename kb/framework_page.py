"""One framework as tables: its keys, what stays in memory, what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diagnose.knowledge.frameworks import Detect
from diagnose.knowledge.parts import files_of
from diagnose.knowledge.records import Behaviour, Framework, Key, Resident
from diagnose.vocabulary import BATCH_UNITS, BEHAVIOURS, FACTS, PHASES, RESIDENTS
from kb import fields
from kb import rules_in_words as words

_Told = tuple[str, str, str, str]  # facts, unit, dead, note
_Range = tuple[str, str]  # since, until
_OTHERS = "Others, and what has no effect"
_TITLES = (
    *(fields.GROUPS[id] for id in ("sizes", "memory", "engine", "run", "machine", "measured", "failure")),
    _OTHERS,
)


@dataclass(frozen=True)
class Meaning:
    """The facts that a key gives or what it changes, what its number counts, and in which versions; of a ``dead`` one why."""

    facts: str
    unit: str
    dead: str
    note: str
    versions: str


@dataclass(frozen=True)
class KeyGroup:
    """Keys of one part of the framework, or of one group of facts: each with everything that it means."""

    title: str
    keys: tuple[tuple[str, tuple[Meaning, ...]], ...]


@dataclass(frozen=True)
class ResidentLine:
    what: str
    where: str
    phases: str
    when: str


@dataclass(frozen=True)
class BehaviourLine:
    what: str
    how: str
    when: str


def page(framework: Framework, sought: str = "") -> dict[str, Any]:
    """What the framework's template needs beside the record; of its keys those that have all words ``sought``."""
    groups = _key_groups(framework, sought.lower().split())
    return {
        "sought": sought,
        "found": sum(len(group.keys) for group in groups),
        "marks": [(title, found) for title, found in _marks(framework.detect) if found],
        "phases": [PHASES[phase] for phase in framework.phases],
        "keys": groups,
        "parts": framework.parts[1:],
        "residents": [_resident(resident) for resident in framework.residents],
        "forks": framework.forks,
        "releases": list(framework.releases.items()),
        "behaviours": [line for behaviour in framework.behaviours for line in _behaviour(behaviour)],
    }


def _marks(detect: Detect) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The words by which a paste is recognised, by where they stand."""
    return (
        ("Commands", detect.commands), ("Paths", detect.paths), ("Keys", detect.keys), ("Words", detect.literals),
    )  # fmt: skip


def _key_groups(framework: Framework, sought: list[str]) -> list[KeyGroup]:
    """The framework's own keys by what their facts are about, then those of its parts."""
    found: dict[str, dict[str, dict[_Told, list[_Range]]]] = {title: {} for title in _TITLES}
    own, *parts = files_of(framework)
    rows = [(_group(key), key) for key in own.keys] + [(part.title, key) for part in parts for key in part.keys]
    for title, key in rows:
        if any(_told(key)) and all(map(" ".join((key.key, *_told(key))).lower().__contains__, sought)):
            ranges = found.setdefault(title, {}).setdefault(key.key, {}).setdefault(_told(key), [])
            ranges.append((key.since, key.until))
    return [
        KeyGroup(title, tuple((key, _meanings(told)) for key, told in keys.items()))
        for title, keys in found.items()
        if keys
    ]


def _group(key: Key) -> str:
    facts = [fact for fact in _facts(key) if fact in FACTS]
    return fields.GROUPS[FACTS[facts[0]].group] if facts else _OTHERS


def _facts(key: Key) -> list[str]:
    return [key.fact] if key.fact else list(dict.fromkeys(fact for facts in key.values.values() for fact in facts))


def _told(key: Key) -> _Told:
    facts = ", ".join(words.title(fact) for fact in _facts(key))
    return facts, BATCH_UNITS.get(key.unit, ""), key.dead, key.note


def _meanings(told: Mapping[_Told, Sequence[_Range]]) -> tuple[Meaning, ...]:
    return tuple(Meaning(*about, words.ranges(ranges)) for about, ranges in told.items())


def _resident(resident: Resident) -> ResidentLine:
    return ResidentLine(
        what=RESIDENTS[resident.what],
        where="host" if resident.pool == "host" else "GPU",
        phases=", ".join(PHASES[phase] for phase in resident.phases),
        when=_when(resident),
    )


def _behaviour(behaviour: Behaviour) -> list[BehaviourLine]:
    when = _when(behaviour)
    return [BehaviourLine(BEHAVIOURS[name][0], str(value), when) for name, value in behaviour.does.items()]


def _when(entry: Resident | Behaviour) -> str:
    rules = (*words.conditions(entry.when), words.versions(entry.since, entry.until))
    return "; ".join(rule for rule in rules if rule) or "always"
