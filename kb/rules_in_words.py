"""Conditions, changes and ranges of versions as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from diagnose.conditions import Conditions, version
from diagnose.knowledge import current
from diagnose.knowledge.records import LeverChange
from diagnose.vocabulary import FACTS, Value
from diagnose.words import phase_words, value_words
from kb.facets import trainers

_OPERATORS = {"above": "above", "below": "below", "at_least": "at least", "at_most": "at most", "not": "not"}


def conditions(rules: Conditions) -> tuple[str, ...]:
    """One line for each fact that must pass."""
    return tuple(f"{title(id)}: {_test(id, test)}" for id, test in rules.items())


def change(step: LeverChange) -> str:
    """What a lever does to a fact: ``Samples per prompt × 0.5, at least 1``, what it sets where nobody sets any, and where it acts."""
    if step.op == "set":
        words = f"{title(step.fact)} → {value(step.fact, step.to)}"
    elif step.op == "scale":
        words = f"{title(step.fact)} × {step.by:g}"
    else:
        words = f"{title(step.fact)} {'+' if (step.by or 0) >= 0 else '−'} {abs(step.by or 0):g}"
    bounds = [("at least", step.at_least), ("at most", step.at_most)]
    told = [f"{name} {bound:,.10g}" for name, bound in bounds if bound is not None]
    told += [f"or {value(step.fact, step.unset)} where nothing sets it"] if step.unset is not None else []
    told += [f"where the {' or the '.join(map(phase_words, step.phases))} fails"] if step.phases else []
    return ", ".join([words, *told])


def versions(since: str, until: str) -> str:
    """``from 0.8``, ``before 0.9``, both, or nothing."""
    return ", ".join(part for part in (f"from {since}" if since else "", f"before {until}" if until else "") if part)


def ranges(several: Iterable[tuple[str, str]]) -> str:
    """Ranges of versions in words, those that touch as one; nothing where they are all versions."""
    joined: list[tuple[str, str]] = []
    for since, until in sorted(several, key=lambda one: version(one[0])):
        last = joined[-1][1] if joined else None
        if last is None or (last and version(since) > version(last)):
            joined.append((since, until))
        elif last and (not until or version(until) > version(last)):
            joined[-1] = (joined[-1][0], until)
    return "; ".join(versions(*one) for one in joined)


def title(id: str) -> str:
    return FACTS[id].title if id in FACTS else id


def value(id: str, given: Value | None) -> str:
    """A fact's value, a framework by its title; also of a fact that is no longer in the vocabulary."""
    if given is None:
        return ""
    if id == "framework":
        return trainers(current()).get(str(given), str(given))
    return value_words(id, given) if id in FACTS else str(given)


def _test(id: str, test: Any) -> str:
    if isinstance(test, Mapping):
        return " and ".join(_bound(id, name, bound) for name, bound in test.items())
    if isinstance(test, (list, tuple)):
        return _any_of([value(id, item) for item in test])
    return value(id, test)


def _bound(id: str, name: str, bound: Any) -> str:
    if name == "not" and isinstance(bound, bool):
        return value(id, not bound)
    words = "none of" if name == "not" and isinstance(bound, (list, tuple)) else _OPERATORS.get(name, name)
    return f"{words} {_test(id, bound)}"


def _any_of(words: list[str]) -> str:
    """``a, b or c``; set apart by semicolons where one of them has a comma or an “or” of its own."""
    if len(words) < 2:
        return "".join(words)
    if any("," in word or " or " in word for word in words):
        return f"{'; '.join(words[:-1])}; or {words[-1]}"
    return f"{', '.join(words[:-1])} or {words[-1]}"
