"""The parameters of one GPU in words: how many of how many, over how many GPUs."""

from __future__ import annotations

from diagnose.estimate.plan import Plan
from diagnose.estimate.sharding import Split
from diagnose.estimate.term import count


def spread_over(plan: Plan, from_stage: int, part: Split | None = None) -> str:
    """The parameters of one GPU in words: of the whole model, or of the part of it that is trained."""
    split, parallel = part or plan.split, plan.whole("tp") * plan.whole("pp") * plan.laid
    shard, over = split.shard(from_stage), parallel * (split.group if split.stage >= from_stage else 1)
    if split.experts and plan.whole("ep") > 1:
        return f"{count(shard)} of {count(plan.shape.parameters)} (experts ÷ {plan.whole('ep')})"
    if not split.experts and (again := round(shard * over) - plan.shape.parameters) > 0:
        return f"{count(plan.shape.parameters)} and {count(again)} again of embedding and head in fp32"
    if round(shard * over) != plan.shape.parameters:
        return f"{count(shard)} of {count(plan.shape.parameters)}"
    return f"{count(plan.shape.parameters)}{f' ÷ {over} GPUs' if over > 1 else ''}"


def trained_over(plan: Plan, from_stage: int) -> str:
    """Those of them that are trained, in words."""
    if not plan.adapters:
        return spread_over(plan, from_stage, plan.trains)
    group = plan.split.group if plan.split.stage >= from_stage else 1
    return f"adapters {count(plan.trained)}{f' ÷ {group} GPUs' if group > 1 else ''}"


def other_size(plan: Plan, id: str, stage: int, each: float) -> tuple[float, str] | None:
    """A role's model that is no copy of the actor's: what one GPU keeps of it, sharded as that is, and the same in words."""
    billions, share = plan.number(id), plan.split.shard(stage) / plan.shape.parameters
    if not billions:
        return None
    return billions * 1e9 * share * each, f"{billions:g} G × {share:.3g} × {each:g} B"
