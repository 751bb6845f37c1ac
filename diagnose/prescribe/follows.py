"""What a change brings with it: the framework's defaults that hang on what is changed, and the machines of more cards."""

from __future__ import annotations

from functools import lru_cache
from math import ceil

from diagnose.batch import whole
from diagnose.facts.settings.defaults import by_defaults_again
from diagnose.knowledge.records import Framework
from diagnose.prescribe.situation import Situation
from diagnose.types import Fact, Facts

_OF_A_MACHINE = 8  # cards that machines of the makers hold, where a run has no more of them on one


def followed(situation: Situation, facts: Facts) -> Facts:
    """The changed facts with what hangs on them."""
    return _by_defaults(situation, _on_more_machines(situation.facts, facts))


def _on_more_machines(was: Facts, facts: Facts) -> Facts:
    """More cards than stand in the run's machines are those of further ones: the RAM of a node is shared by no more of them."""
    cards, nodes, many = whole(was.values, "n_gpus"), whole(was.values, "n_nodes"), whole(facts.values, "n_gpus")
    if not (cards and nodes and many) or many <= cards or facts.values.get("n_nodes") != nodes:
        return facts
    machines = ceil(many / max(_OF_A_MACHINE, cards // nodes))
    return facts if machines <= nodes else facts.with_fact(Fact("n_nodes", machines, "answered"))


def _by_defaults(situation: Situation, facts: Facts) -> Facts:
    """The facts with every default that is another one now: what sleeps beside an engine stays awake without one."""
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
