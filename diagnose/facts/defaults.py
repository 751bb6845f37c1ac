"""What holds when nothing sets it: the framework's own defaults, and those of a shipped script that the paste names."""

from __future__ import annotations

from collections.abc import Mapping

from diagnose.batch import resolve
from diagnose.conditions import holds, in_range
from diagnose.knowledge.records import Framework
from diagnose.types import Fact, Paste


def with_defaults(
    stated: Mapping[str, Fact], framework: Framework, version: str | None, units: Mapping[str, str], paste: Paste
) -> dict[str, Fact]:
    """The stated facts and, for those that nothing states, the defaults in the unit of the active key.

    Later entries outrank earlier ones, and a condition sees what the earlier ones gave.
    """
    facts = dict(stated)
    for default in framework.defaults:
        if default.script and not any(default.script in line.text for line in paste.lines):
            continue
        if not in_range(default.since, default.until, version) or not holds(default.when, resolve(facts)):
            continue
        why = default.script or ("usual in trainers" if framework.fallback else f"default of {framework.title}")
        for id, value in default.facts.items():
            if id not in stated:
                facts[id] = Fact(id, value, "default", units.get(id, ""), why=why)
    return facts
