"""What a framework's record says of one run: the switches and the residents whose condition and versions hold.

A condition that an unknown fact would decide counts as not met. Dozens of changes are tried on a run, and most of them leave alone what a
record's conditions name: what was found for the same values of these facts is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from diagnose.batch import Values
from diagnose.conditions import holds, in_range, told_version
from diagnose.knowledge.frameworks import Resident
from diagnose.knowledge.records import Framework
from diagnose.vocabulary import Value


class Recorded(NamedTuple):
    """The switches, of which the last entry counts, and all entries of residents. ``own_precision``: the switches follow the precision
    fact themselves."""

    does: Mapping[str, Value]
    own_precision: bool
    residents: tuple[Resident, ...]


def recorded(framework: Framework, values: Values) -> Recorded:
    """What the record says of a run of these facts."""
    return _recorded(framework, told_version(values), *map(values.get, _named(framework)))


@lru_cache(maxsize=64)
def _named(framework: Framework) -> tuple[str, ...]:
    """The facts that the conditions name."""
    conditions = [*(entry.when for entry in framework.behaviours), *(entry.when for entry in framework.residents)]
    return tuple(dict.fromkeys(id for when in conditions for id in when))


@lru_cache(maxsize=512, typed=True)  # typed: True is no 1
def _recorded(framework: Framework, version: str | None, *told: Value | None) -> Recorded:
    values = {id: value for id, value in zip(_named(framework), told, strict=True) if value is not None}
    switches = [entry for entry in framework.behaviours if in_range(entry.since, entry.until, version)]
    does: dict[str, Value] = {}
    for entry in switches:
        if holds(entry.when, values):
            does |= entry.does
    return Recorded(
        does=does,
        own_precision=any("precision" in entry.when and "weight_bytes" in entry.does for entry in switches),
        residents=tuple(
            entry
            for entry in framework.residents
            if in_range(entry.since, entry.until, version) and holds(entry.when, values)
        ),
    )
