"""The rule language, whole: every named fact must pass its test.

A test is a value, a list (any of them), or a table of ``above``, ``below``, ``at_least``, ``at_most`` and ``not``. There is no
OR between facts and no arithmetic: a record that needs one is two records, or needs a fact that Python computes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from diagnose.vocabulary import Value

Conditions = Mapping[str, Any]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "above": lambda value, bound: value > bound,
    "below": lambda value, bound: value < bound,
    "at_least": lambda value, bound: value >= bound,
    "at_most": lambda value, bound: value <= bound,
}
_YES_OR_NO = ("true", "false")
OPERATORS = (*_COMPARE, "not")


@lru_cache(maxsize=4096)
def version(text: str) -> tuple[int, ...]:
    """``v0.8.5.post1`` as (0, 8, 5), to be compared by size: without zeros at the end, since 0.4 is 0.4.0."""
    numbers = list(parts(text))
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def parts(text: str) -> tuple[int, ...]:
    """The numbers of a version as they are spelled, up to the first part that is not one."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", text.strip())
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def passes(test: Any, value: Value) -> bool:
    """Whether one value passes one test. Words that are compared by size are versions."""
    if type(test) is type(value):  # the usual case: no list and no table
        return bool(test == value)
    if isinstance(test, dict):
        return all(_one(operator, bound, value) for operator, bound in test.items())
    if isinstance(test, (list, tuple)):
        if type(value) is str and value.lower() not in _YES_OR_NO:  # a word that no yes or no can be the same as
            return value in test
        return any(_same(item, value) for item in test)
    return _same(test, value)


def holds(conditions: Conditions, values: Mapping[str, Value]) -> bool | None:
    """True, False, or None when a fact that would decide is unknown."""
    unknown_seen = False
    for id, test in conditions.items():
        value = values.get(id)
        if value is None:
            unknown_seen = True
        elif value is not test and not passes(test, value):
            return False
    return None if unknown_seen else True


def unknown(conditions: Conditions, values: Mapping[str, Value]) -> tuple[str, ...]:
    """The facts that would have to be known to decide."""
    return tuple(id for id in conditions if id not in values)


def only_rules_out(test: Any) -> bool:
    """Whether a test names only what must not be: where nothing tells the fact, nobody says that it is so."""
    return isinstance(test, Mapping) and set(test) == {"not"}


def told_version(values: Mapping[str, Value]) -> str | None:
    """The framework's version as it is spelled, None where nothing tells it."""
    told = values.get("framework_version")
    return None if told is None else str(told)


def in_range(since: str, until: str, at: str | None) -> bool:
    """Whether version ``at`` lies in since ≤ at < until; an unknown version counts as the newest."""
    if at is None:
        return not until
    if not since and not until:
        return True
    number = version(at)
    return (not since or number >= version(since)) and (not until or number < version(until))


def alike(value: Value | None, target: Value) -> bool:
    """Whether a known value is the one that is asked for, as people write them: words, yes and no in any case."""
    return value is not None and (value is target or str(value).lower() == str(target).lower())


def _same(wanted: Any, value: Value) -> bool:
    if isinstance(wanted, bool) or isinstance(value, bool):
        return wanted is value or str(wanted).lower() == str(value).lower()
    return bool(wanted == value)


def _one(operator: str, bound: Any, value: Value) -> bool:
    if operator == "not":
        return not passes(bound, value)
    if isinstance(value, str):
        return _COMPARE[operator](version(value), version(str(bound)))
    return _COMPARE[operator](value, bound)
