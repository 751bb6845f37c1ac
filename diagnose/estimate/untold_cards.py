"""How many cards the estimate takes where nobody tells their number: one where they share nothing, else a usual machine."""

from __future__ import annotations

from diagnose.estimate.other_cards import fewest_cards, usual_cards
from diagnose.estimate.plan import plan_of
from diagnose.knowledge.records import Framework
from diagnose.types import Fact, Facts

_ALIKE = "not told, and each card holds the same where nothing is shared out"
_SHARED = "not told, and what is shared out is taken over a usual machine"


def assumed_cards(facts: Facts, fallback: Framework | None = None, several: bool = False) -> Fact | None:
    """The number as an assumption; None where it is told or asked for, where no card is named, and where it would not be enough.

    ``several``: a message shows that there is more than one.
    """
    told = any(id in facts.values for id in ("n_gpus", "trainer_gpus", "gpus_per_node"))
    if told or facts.planned or not any(id in facts.values for id in ("gpu_model", "gpu_mem_gib")):
        return None
    fewest = fewest_cards(facts)
    plan = plan_of(facts.with_fact(Fact("n_gpus", fewest, "assumed")), fallback)
    if plan is None or plan.serves:
        return None
    nodes, usual = plan.whole("n_nodes"), usual_cards(facts)
    if plan.split.stage == 0 and fewest == 1 and plan.values.get("strategy") != "megatron":
        return Fact("n_gpus", usual * nodes if several or nodes > 1 else 1, "assumed", why=_ALIKE, taken="alike")
    return Fact("n_gpus", usual * max(nodes, -(-fewest // usual)), "assumed", why=_SHARED, taken="shared")
