"""What a change brings with it: the framework's defaults that hang on what is changed."""

from __future__ import annotations

from diagnose.facts.defaults import by_defaults_again
from diagnose.prescribe.situation import Situation
from diagnose.types import Facts


def followed(situation: Situation, facts: Facts) -> Facts:
    """The changed facts with every default that is another one now: what sleeps beside an engine stays awake without one."""
    if facts is situation.facts or facts.framework is None:
        return facts
    before, after = (by_defaults_again(one, situation.paste).stated for one in (situation.facts, facts))
    others = [
        fact
        for id, fact in after.items()
        if fact.origin in ("default", "assumed") and (id not in before or before[id].value != fact.value)
    ]
    return facts.with_facts(others) if others else facts
