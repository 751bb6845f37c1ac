"""One framework as tables: its keys, what stays in memory, what it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diagnose.knowledge.frameworks import Detect
from diagnose.knowledge.parts import files_of
from diagnose.knowledge.records import Behaviour, Framework, Key, Resident
from diagnose.vocabulary import BATCH_UNITS, BEHAVIOURS, PHASES, RESIDENTS
from kb import rules_in_words as words


@dataclass(frozen=True)
class KeyLine:
    """A key, the facts that it gives or what it changes, what its number counts and in which versions."""

    key: str
    facts: str
    unit: str
    dead: str
    note: str
    versions: str


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


def page(framework: Framework) -> dict[str, Any]:
    """What the framework's template needs beside the record. Keys stand below the part that tells them, its own first."""
    return {
        "marks": [(title, found) for title, found in _marks(framework.detect) if found],
        "phases": [PHASES[phase] for phase in framework.phases],
        "keys": [(file.title, [_key(key) for key in file.keys]) for file in files_of(framework) if file.keys],
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


def _key(key: Key) -> KeyLine:
    given = [key.fact] if key.fact else dict.fromkeys(fact for facts in key.values.values() for fact in facts)
    facts = ", ".join(words.title(fact) for fact in given)
    return KeyLine(
        key.key, facts, BATCH_UNITS.get(key.unit, ""), key.dead, key.note, words.versions(key.since, key.until)
    )


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
