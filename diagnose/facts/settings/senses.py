"""A key that means one thing or another by what nobody tells: once a default settles it, the other sense goes."""

from __future__ import annotations

from collections.abc import Mapping, Set

from diagnose.batch import resolve
from diagnose.conditions import holds
from diagnose.facts.settings.spelling import normal
from diagnose.knowledge.records import Framework
from diagnose.types import Fact
from diagnose.vocabulary import Value


def of_one_sense(stated: Mapping[str, Fact], framework: Framework | None) -> dict[str, Fact]:
    """The facts without those that another sense of the same written key gave, of which the defaults say that it does not hold."""
    written = [fact for fact in stated.values() if fact.origin == "read" and fact.key and fact.span]
    twice = [one for one in written if any(one is not other and one.span == other.span for other in written)]
    if framework is None or not twice:
        return dict(stated)
    values = resolve(stated)
    taken = {id for id, fact in stated.items() if fact.origin == "default"}
    wrong = {fact.id for fact in twice if _rules_out(framework, fact, values, taken)}
    kept = {fact.span for fact in twice if fact.id not in wrong}
    return {id: fact for id, fact in stated.items() if id not in wrong or fact.span not in kept}


def _rules_out(framework: Framework, fact: Fact, values: Mapping[str, Value], taken: Set[str]) -> bool:
    """Whether every entry that reads the fact from this key hangs on what a default rules out."""
    senses = [
        key
        for key in framework.keys
        if key.fact == fact.id and normal(fact.key) in {normal(name) for name in (key.key, *key.aliases)}
    ]
    return bool(senses) and all(taken & set(key.when) and holds(key.when, values) is False for key in senses)
