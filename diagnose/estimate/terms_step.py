"""What the optimizer step needs for a moment beside state and gradients."""

from __future__ import annotations

from diagnose.estimate.low_rank import projected
from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, count, exactly, make_term
from diagnose.estimate.terms_held import drops_gradients, perhaps_less, trained_shard
from diagnose.types import Term

_ADAM = "torch 2.6 optim/adamw.py:697-706, optim/optimizer.py:167-192"
_SUB_GROUP = 1e9  # sub_group_size, in parameters


def adam_temporaries(plan: Plan) -> list[Term]:
    """What the optimizer step needs beside state and gradients."""
    kind = plan.does.get("adam_temporaries", "none")
    mine, moved_by = trained_shard(plan, 1), ("fused_optimizer", "zero_stage", "shard_size")
    if plan.values.get("optimizer_on_cpu") is True or (kind == "foreach" and _in_place(plan)):
        return []
    each, table = plan.each.optimizer / 2, plan.shape.embedding
    if projected(plan.values) or drops_gradients(plan):
        band, how = exactly(2 * each * table), f"2 × {each:g} B × {count(table)}, one matrix at a time"
    elif kind == "foreach":
        # of an unknown trainer nobody knows whether its kernel is the fused one
        perhaps_none = plan.framework.fallback and "fused_optimizer" not in plan.values
        band = Band(0.0 if perhaps_none else each * mine, each * mine, each * mine)
        how = f"{count(mine)} × {each:g} B for all at once"
    elif kind == "all_fp32_gradients":
        band, how = exactly(4 * mine), f"{count(mine)} × 4 B"
    elif kind == "fp32_gradients":
        band, how = _fp32_gradients(plan, mine)
    elif kind == "largest_shard":
        largest = max(plan.shape.embedding, plan.shape.layer / 7) / plan.split.group
        band, how = exactly(2 * 4 * largest), f"2 × 4 B × {count(largest)}"
    else:
        return []
    size = perhaps_less(plan, band)
    return [make_term("adam_temporaries", "temporaries of the optimizer step", "work", size, how, _ADAM, moved_by)]


def _in_place(plan: Plan) -> bool:
    """A kernel that takes one tensor after the other: torch's fused one, apex's, bitsandbytes' (bitsandbytes/optim/optimizer.py: step).

    (Names: transformers 4.57.1 training_args.py: OptimizerNames.)
    """
    named = str(plan.values.get("optimizer", "")).lower()
    by_name = any(word in named for word in ("fused", "8bit", "lion_32bit", "ademamix")) or named.startswith("paged")
    return plan.values.get("fused_optimizer") is True or by_name


def _fp32_gradients(plan: Plan, mine: float) -> tuple[Band, str]:
    """Gradients joined in 16 bits (2 B) and cast to fp32 (4 B), then in their place torch's square roots of a moment (4 B) beside the cast.

    At stages 1 and 2 of all that this GPU updates, whose own gradients are dropped once they are cast, and at stage 3 of one sub group,
    whose gradients stay. A fused step needs no square roots (DeepSpeed runtime/zero/stage_1_and_2.py: step; stage3.py:
    _prepare_fp32_grad_for_sub_group; torch 2.6 optim/adamw.py: _multi_tensor_adamw).
    """
    if plan.split.stage < 3:
        return exactly(6 * mine), f"{count(mine)} × 6 B"
    group = min(mine, _SUB_GROUP)
    return Band(6 * group, 6 * group, 8 * group), f"{count(group)} × 6 B, a sub group of at most 1 B"
