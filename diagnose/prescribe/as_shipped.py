"""What stands before a change at a key that the paste does not set: the word of the file that the paste names, as its project ships it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from diagnose.conditions import alike
from diagnose.knowledge.records import Key
from diagnose.prescribe.key_words import word, words_of
from diagnose.types import Change, Fact, Facts
from diagnose.vocabulary import Value


def with_shipped(change: Change, key: Key, facts: Facts) -> Change:
    """The change with that word and the file's name; as it is where no file tells the fact, or nothing tells how the file writes it."""
    told, file = facts.stated.get(change.fact), facts.shipped_in(change.fact)
    before = _written(key, told, facts) if told is not None and file else None
    return change if before is None else replace(change, before=before, shipped=file)


def _written(key: Key, told: Fact, facts: Facts) -> str | None:
    """How the key writes the value: of several words for it none, and of a yes that a number tells none either."""
    value = told.value
    if key.values:
        said = [one for one, given in words_of(key, facts).items() if told.id in given and _holds(given, facts)]
        return said[0] if len({one.lower() for one in said}) == 1 else None
    if isinstance(value, bool) and key.above is not None:
        return None if value else word(key.above)
    return word(value != key.negated if isinstance(value, bool) else value)


def _holds(given: Mapping[str, Value], facts: Facts) -> bool:
    return all(alike(facts.values.get(id), value) for id, value in given.items())
