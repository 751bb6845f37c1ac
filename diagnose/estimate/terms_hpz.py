"""The second shard of the weights that ZeRO++ keeps within a group of cards, so that a backward pass gathers from near by."""

from __future__ import annotations

from diagnose.estimate.plan import Plan
from diagnose.estimate.term import count, make_term
from diagnose.types import Term

_HPZ = "ZeRO++, arXiv:2306.10209, section 3.2; DeepSpeed runtime/zero/partition_parameters.py: _partition_param_sec"


def second_shard(plan: Plan) -> Term:
    """The weights as they are stored ÷ the group, which is no larger than the run; beside the shard over all cards."""
    group = min(plan.whole("hpz_size"), plan.split.group)
    size = plan.each.weights * plan.split.whole / group
    how = f"{count(plan.split.whole)} ÷ {group} GPUs × {plan.each.weights:g} B"
    return make_term("second_shard", "second shard of the weights", "held", size, how, _HPZ, ("hpz_size", "zero_stage"))
