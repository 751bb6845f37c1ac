"""What DeepSpeed itself lays out beside a shard: buckets of gradients, weights that are gathered, and the temporaries of its step.

Sizes are DeepSpeed's own unless the configuration sets them: deepspeedai/DeepSpeed@edaa722 deepspeed/runtime/zero/config.py.
"""

from __future__ import annotations

from diagnose.conditions import version
from diagnose.estimate.accumulated import one_micro_batch
from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, count, exactly, make_term
from diagnose.types import Term

BUCKET, LIVE, SUB_GROUP = 500_000_000, 1_000_000_000, 1_000_000_000  # parameters
_BUCKETS = "deepspeedai/DeepSpeed@edaa722 runtime/zero/stage_1_and_2.py: setup_buckets, _release_ipg_buffers; config.py: reduce_bucket_size"
_BUCKET_OF_3 = (
    "deepspeedai/DeepSpeed@edaa722 runtime/zero/stage3.py: _setup_for_real_optimizer; config.py: reduce_bucket_size"
)
_LIVE = "deepspeedai/DeepSpeed@edaa722 runtime/zero/partitioned_param_coordinator.py: fetch_sub_module; config.py: max_live_parameters"
_LAID_OUT = "deepspeedai/DeepSpeed@edaa722 runtime/comm/coalesced_collectives.py: reduce_scatter_coalesced"
_WITH_FIRST_GRADIENT = "0.17.2"  # until then backward() made the buckets before anything else: stage_1_and_2.py
_KEYS = ("reduce_bucket", "overlap_comm", "zero_stage")


def each_bytes(plan: Plan) -> float:
    """Bytes of a number of a bucket and of a gathered weight, which are of the model's type."""
    return 4.0 if plan.values.get("precision") == "fp32" else 2.0


def runs(plan: Plan) -> bool:
    """Whether DeepSpeed shards the run, or so much of it as a ZeRO stage tells alone."""
    strategy = plan.values.get("strategy")
    return (
        strategy == "deepspeed"
        or plan.does.get("gather") == "zero3"
        or (strategy is None and plan.split.stage in (1, 2))
    )


def gathers(plan: Plan) -> bool:
    """Whether weights are put together for a pass: at stage 3, from other cards or from the host."""
    shares = plan.split.group > 1 or plan.values.get("param_on_cpu") is True
    return runs(plan) and plan.split.stage >= 3 and shares


def live_parameters(*, parameters: float, most: float, largest: float) -> Band:
    """Parameters that stand gathered at once: what is needed now, and ahead of use as many as may; low: half as many.

    Every module fetches some of what comes next, so that the most is soon reached; the largest matrix stands whole whatever the limit.
    """
    live = min(parameters, max(most, largest))
    return Band(max(min(parameters, largest), 0.5 * live), live, live)


def gathered(plan: Plan) -> Term:
    """What stands gathered within a pass."""
    whole, most, each = plan.split.whole, plan.number("live_parameters"), each_bytes(plan)
    most = LIVE if most is None else most  # none at all may
    live = live_parameters(parameters=whole, most=most, largest=plan.shape.embedding / plan.whole("tp"))
    how = f"{each:g} B × at most {count(most)} live of {count(whole)}"
    moved_by = ("live_parameters", "zero_stage", "shard_size", "tp")
    return make_term("gathers", "gathered weights", "work", live.times(each), how, _LIVE, moved_by)


def gathered_at_head(plan: Plan) -> Term:
    """At the end of a pass without gradient: the head alone, since nothing is fetched that comes behind it."""
    table, each = plan.shape.embedding / plan.whole("tp"), each_bytes(plan)
    how = f"{each:g} B × {count(table)} of the head"
    return make_term("gathers", "gathered weights", "work", each * table, how, _LIVE, ("zero_stage", "shard_size"))


def bucket_elements(plan: Plan) -> Band:
    """Gradients that are reduced at a time: as set, or of transformers' “auto” the square of the width.

    (transformers v4.57.1 integrations/deepspeed.py: trainer_config_finalize.) Low: a file that is not shown may say so.
    """
    square, stated = float(plan.model.hidden) ** 2, plan.number("reduce_bucket")
    by_width = plan.values.get("buckets_by_width") is True
    if stated and not (by_width and "reduce_bucket" in plan.defaults):
        return exactly(stated)
    return exactly(square) if by_width else Band(min(square, BUCKET), BUCKET, BUCKET)


def bucket_of_stage_3(role: str, plan: Plan) -> Term:
    """The bucket of stage 3, which is made with the optimizer and stays."""
    gradients, each = bucket_elements(plan), each_bytes(plan)
    size, how = gradients.times(each), f"{count(gradients.mid)} gradients × {each:g} B"
    return make_term(f"{role}_bucket", "gradient bucket", "held", size, how, _BUCKET_OF_3, _KEYS)


def buckets(plan: Plan, *, first_gradient: bool) -> list[Term]:
    """Buckets of stages 1 and 2: two where communication overlaps, a whole one however little is trained, on a single GPU too.

    Before the ``first_gradient`` they stand where an old version makes them (or where none is told: low without), and at stage 1 from
    the first micro batch to the last.
    """
    if plan.split.stage not in (1, 2) or not runs(plan):
        return []
    overlaps, gradients, each = plan.values.get("overlap_comm"), bucket_elements(plan), each_bytes(plan)
    number, most = 2 if overlaps is True else 1, 1 if overlaps is False else 2
    size = Band(number * each * gradients.low, number * each * gradients.mid, most * each * gradients.high)
    if not first_gradient and not (plan.split.stage == 1 and not one_micro_batch(plan)):
        if plan.deepspeed and version(plan.deepspeed) >= version(_WITH_FIRST_GRADIENT):
            return []
        size = size if plan.deepspeed else Band(0.0, size.mid, size.high)
    how = f"{number if number > 1 else 'one'} of {count(gradients.mid)} gradients × {each:g} B"
    return [make_term("buckets", "gradient buckets", "work", size, how, _BUCKETS, _KEYS)]


def laid_out(plan: Plan) -> list[Term]:
    """A bucket laid out once more by ranks, while stage 3 reduces it: not where most matrices are larger than it, which go alone."""
    if not runs(plan) or plan.split.stage < 3 or plan.split.group == 1:
        return []
    layer = plan.shape.layer / plan.whole("tp")
    size = bucket_elements(plan)
    filled = [min(each, plan.trained) if each > layer / 2 else 0.0 for each in size]
    each, band = each_bytes(plan), Band(*filled)
    if not band.high:
        return []
    how = f"{count(band.mid)} gradients × {each:g} B, in the order of the ranks"
    return [make_term("laid_out", "a bucket on its way", "work", band.times(each), how, _LAID_OUT, _KEYS)]


def further_gradients(plan: Plan) -> list[Term]:
    """The part of this micro batch beside the sum of those before it, at stage 2."""
    if plan.values.get("strategy") != "deepspeed" or plan.split.stage != 2 or one_micro_batch(plan):
        return []
    mine = plan.trains.shard(2)
    size, how = each_bytes(plan) * mine, f"{count(mine)} × {each_bytes(plan):g} B of one more micro batch"
    return [make_term("further_gradients", "gradients of a micro batch", "work", size, how, _BUCKETS, _KEYS)]


def step_temporaries(plan: Plan, mine: float, kind: str) -> tuple[Band, str]:
    """Gradients joined as they are and cast to fp32 (4 B); torch's foreach step needs roots of a moment (4 B) in the former's place.

    ``kind``: "in_place", "foreach", or "" where nothing tells. Stage 1 has all gradients until only the own ones are left; stage 3 goes by
    sub groups; without sharding gradients are cast as they are joined (deepspeedai/DeepSpeed@edaa722 runtime/zero/stage_1_and_2.py: step;
    stage3.py: _prepare_fp32_grad_for_sub_group; runtime/fp16/fused_optimizer.py: step; torch 2.6 optim/adamw.py: _multi_tensor_adamw).
    """
    stage, joined = plan.split.stage, 0.0 if plan.each.gradients >= 4 or plan.split.stage == 0 else plan.each.gradients
    if stage >= 3:
        mine = min(mine, plan.number("sub_group") or SUB_GROUP)
    low, high = (4 + joined) * mine, 8 * mine
    band = Band(low, high if kind == "foreach" else low, low if kind == "in_place" else high)
    if stage == 1:
        band = band.plus(-plan.each.gradients * (plan.trained - mine))
    how = f"{count(mine)} × {(8 if kind == 'foreach' else 4 + joined):g} B"
    how += f", a sub group of at most {count(plan.number('sub_group') or SUB_GROUP)}" if stage >= 3 else ""
    return band, how
