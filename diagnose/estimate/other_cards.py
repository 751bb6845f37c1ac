"""A run whose number of cards nobody tells: the number that is taken, and the other ends of what it may be."""

from __future__ import annotations

from diagnose.batch import whole
from diagnose.types import Fact, Facts

_USUAL = 8  # cards of a machine of more than one: NVIDIA HGX and DGX, Ascend Atlas 800T
_SHARDING = ("zero_stage", "strategy")


def on_other_cards(facts: Facts) -> tuple[Facts, ...]:
    """The same run at its other ends, none where the number is told.

    Taken over a machine: on the fewest cards that its settings allow. Else on a machine, first fully sharded, which a launcher's
    own file may ask for where only a default says that nothing is, then as it is.
    """
    if not facts.cards_open:
        return ()
    if facts.stated["n_gpus"].taken == "shared":
        return (facts.with_fact(Fact("n_gpus", fewest_cards(facts), "assumed")),)
    as_it_is = facts.with_fact(Fact("n_gpus", max(usual_cards(facts), whole(facts.values, "n_gpus") or 1), "assumed"))
    if any(id in facts.stated and facts.stated[id].origin != "default" for id in _SHARDING):
        return (as_it_is,)
    sharded = (("strategy", "deepspeed"), ("zero_stage", 3))
    return as_it_is.with_facts(Fact(id, value, "assumed") for id, value in sharded), as_it_is


def usual_cards(facts: Facts) -> int:
    """The cards of a usual machine; of a card that is known in machines of one size alone, of such a one."""
    sizes = {machine.cards for machine in facts.gpu.machines.values()} if facts.gpu else set()
    return max(sizes) if len(sizes) == 1 else _USUAL


def fewest_cards(facts: Facts) -> int:
    """With fewer cards the run's own settings would not be taken: those of one copy of a split model, those of an engine."""
    copy = 1
    for id in ("tp", "pp", "sp"):
        copy *= whole(facts.values, id) or 1
    return max(copy, whole(facts.values, "ep") or 1, whole(facts.values, "rollout_tp") or 1)
