"""The optimizer's state in a trainer that no record tells of: what may be on the card where nothing shows the optimizer or its place.

Nobody read such a trainer. It may step on the host, as LSRL does by itself (lsdefine/lsrl@835f76c lsrl/cpuadamw.py), or keep the moments
in 8 bits (Dettmers et al. 2022, arXiv:2110.02861); the middle stays torch's Adam on the card. What a script makes, what a key or a file
of DeepSpeed's says and what is answered is certain.
"""

from __future__ import annotations

from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, exactly

_IN_8_BITS = 2.0  # bytes a parameter of both moments
_ON_HOST = ("optimizer_on_cpu", "optimizer_offload", "param_on_cpu")
WHERE = "optimizer_on_cpu"
# strategies that take the gradients along to an optimizer on the host
_TAKE_GRADIENTS = ("deepspeed", "fsdp", "fsdp2")


def place_untold(plan: Plan) -> bool:
    """Whether nothing tells where the state of all parameters stands."""
    if plan.recorded or plan.adapters or "optimizer" in plan.values or plan.values.get("zero_file") is True:
        return False
    return not any(id in plan.values and id not in plan.defaults for id in _ON_HOST)


def state(plan: Plan, size: float, shard: float) -> Band:
    """``size`` bytes of state for ``shard`` parameters, down to nothing where it may be on the host, or to 8 bits a moment where only
    the place is told."""
    if place_untold(plan):
        return Band(0.0, size, size)
    if plan.recorded or plan.adapters or "optimizer" in plan.values or not size:
        return exactly(size)
    return Band(min(size, (plan.each.masters + _IN_8_BITS) * shard), size, size)


def gradients(plan: Plan, size: float) -> Band:
    """``size`` bytes of gradients, down to nothing where an optimizer that may be on the host would take them along."""
    leave = plan.values.get("strategy") in _TAKE_GRADIENTS and place_untold(plan)
    return Band(0.0 if leave else size, size, size)


def moved_by(plan: Plan, facts: tuple[str, ...]) -> tuple[str, ...]:
    """These facts, and the place of the state where that is untold: what hangs on it goes up and down together."""
    return (*facts, WHERE) if place_untold(plan) else facts
