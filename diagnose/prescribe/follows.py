"""What a change brings with it: the framework's defaults that hang on what is changed."""

from __future__ import annotations

from functools import lru_cache

from diagnose.facts.defaults import by_defaults_again
from diagnose.knowledge.records import Framework
from diagnose.prescribe.situation import Situation
from diagnose.types import Facts


def followed(situation: Situation, facts: Facts) -> Facts:
    """The changed facts with every default that is another one now: what sleeps beside an engine stays awake without one."""
    if facts.framework is None:
        return facts
    was = situation.facts.values
    if not any(facts.values.get(id) != was.get(id) for id in _asked_for(facts.framework)):
        return facts
    after = by_defaults_again(facts, situation.paste).stated
    others = [
        fact
        for id, fact in after.items()
        if fact.origin in ("default", "assumed") and (id not in facts.stated or facts.stated[id].value != fact.value)
    ]
    if not others:
        return facts
    # what reading the defaults once more changes by itself does not come of the change
    before = by_defaults_again(situation.facts, situation.paste).stated
    others = [fact for fact in others if fact.id not in before or before[fact.id].value != fact.value]
    return facts.with_facts(others) if others else facts


@lru_cache(maxsize=128)
def _asked_for(framework: Framework) -> frozenset[str]:
    """The facts on which some default hangs."""
    return frozenset(id for default in framework.defaults for id in default.when)
