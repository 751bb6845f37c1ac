"""What a new key needs for its trainer to start: its name in the releases before it, where nobody tells which one runs, and the sign
before it where the trainer's own file does not name it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from diagnose.conditions import holds, told_version, version
from diagnose.knowledge.records import Framework, Key
from diagnose.prescribe.company import same_key
from diagnose.prescribe.writing import key_of
from diagnose.types import Change, Facts
from diagnose.words.lists import listed


def in_older_releases(facts: Facts, changes: Iterable[Change]) -> str:
    """A sentence for each release before which keys that stand nowhere in the paste had other names that take the same words; empty
    where none had."""
    if facts.framework is None or told_version(facts.values):
        return ""
    renamed: dict[str, dict[str, str]] = {}
    for change in changes:
        key = key_of(facts, change.fact) if change.span is None and change.key else None
        if key and key.since and same_key(change.key, key.key) and (before := _before(key, facts, facts.framework)):
            renamed.setdefault(key.since, {})[key.key] = before
        elif key and (plain := _without_dots(change, key, facts.framework)):
            renamed.setdefault(facts.framework.dotted_since, {})[change.key] = plain
    return " ".join(_renamed(since, names) for since, names in renamed.items())


def _renamed(since: str, names: Mapping[str, str]) -> str:
    verb = "is" if len(names) == 1 else "are"
    return f"Before {since}, {listed(tuple(names))} {verb} called {listed(tuple(names.values()))}."


def _without_dots(change: Change, key: Key, framework: Framework) -> str:
    """The name of a dotted key from before the release in which all keys got dots."""
    if not framework.dotted_since or "." not in change.key or key.since == framework.dotted_since:
        return ""
    return next((alias for alias in key.aliases if "." not in alias), "")


def of_new_keys(facts: Facts, changes: Sequence[Change]) -> str:
    """Everything that is said of keys that stand nowhere in the paste; empty where nothing is."""
    return " ".join(said for said in (in_older_releases(facts, changes), _unnamed(facts, changes)) if said)


def _unnamed(facts: Facts, changes: Iterable[Change]) -> str:
    keys = facts.framework.keys if facts.framework else ()
    names = {key.key for key in keys if key.unnamed}
    new = [change.key.rpartition(".")[2] for change in changes if change.span is None and change.key in names]
    if not new:
        return ""
    return f"The trainer’s own file does not name {listed(new)}: a command takes {'it' if len(new) == 1 else 'them'} with ++ in front."


def _before(key: Key, facts: Facts, framework: Framework) -> str:
    """The name that the key had in the release before its own."""
    others = [
        one
        for one in framework.keys
        if one.until and version(one.until) <= version(key.since) and one.key != key.key and _same(one, key)
        if not one.dead and not one.hidden and holds(one.when, facts.values) is not False
    ]
    latest = max(others, key=lambda one: version(one.until), default=None)
    return latest.key if latest and latest.until == key.since else ""


def _same(one: Key, other: Key) -> bool:
    """Whether two keys set the same by the same words."""
    return (one.fact, one.unit, one.values, one.negated, one.above) == (
        other.fact,
        other.unit,
        other.values,
        other.negated,
        other.above,
    )
