"""What the optimizer step needs for a moment beside state and gradients."""

from __future__ import annotations

from diagnose.estimate import terms_zero
from diagnose.estimate.low_rank import projected
from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, count, exactly, make_term
from diagnose.estimate.terms_held import drops_gradients, perhaps_less, trained_shard
from diagnose.estimate.untold_state import moved_by as with_place
from diagnose.estimate.untold_state import place_untold
from diagnose.types import Term

_ADAM = "torch 2.6 optim/adamw.py:697-706, optim/optimizer.py:167-192"


def adam_temporaries(plan: Plan) -> list[Term]:
    """What the optimizer step needs beside state and gradients."""
    kind = _kind(plan)
    mine, moved_by = trained_shard(plan, 1), with_place(plan, ("fused_optimizer", "zero_stage", "shard_size"))
    if plan.values.get("optimizer_on_cpu") is True or (kind == "foreach" and _in_place(plan)):
        return []
    each, table = plan.each.optimizer / 2, plan.shape.embedding
    if projected(plan.values) or drops_gradients(plan):
        band, how = exactly(2 * each * table), f"2 × {each:g} B × {count(table)}, one matrix at a time"
    elif kind == "foreach" and "adafactor" in str(plan.values.get("optimizer", "")).lower():
        band, how = _adafactor(plan)
    elif kind == "foreach":
        # of an unknown trainer nobody knows whether its kernel is the fused one
        perhaps_none = plan.framework.fallback and "fused_optimizer" not in plan.values
        band = Band(0.0 if perhaps_none else each * mine, each * mine, each * mine)
        how = f"{count(mine)} × {each:g} B for all at once"
    elif kind == "all_fp32_gradients":
        band, how = exactly(4 * mine), f"{count(mine)} × 4 B"
    elif kind == "fp32_gradients":
        band, how = terms_zero.step_temporaries(plan, mine, _way(plan))
    elif kind == "largest_shard":
        largest = max(plan.shape.embedding, plan.shape.layer / 7) / plan.split.group
        band, how = exactly(2 * 4 * largest), f"2 × 4 B × {count(largest)}"
    else:
        return []
    size = perhaps_less(plan, Band(0.0, band.mid, band.high) if place_untold(plan) else band)
    return [make_term("adam_temporaries", "temporaries of the optimizer step", "work", size, how, _ADAM, moved_by)]


def _kind(plan: Plan) -> str:
    """What the record says; a trainer that takes the fused kernel by default does so unless an optimizer is named."""
    kind = str(plan.does.get("adam_temporaries", "none"))
    named = "optimizer" in plan.values and "optimizer" not in plan.defaults
    return ("foreach" if named else "none") if kind == "fused" else kind


def _way(plan: Plan) -> str:
    """How Adam goes through fp32 gradients: "in_place", by torch's "foreach", or "" where nothing tells."""
    if _in_place(plan):
        return "in_place"
    return "foreach" if "torch" in str(plan.values.get("optimizer", "")).lower() else ""


def _in_place(plan: Plan) -> bool:
    """A kernel that takes one tensor after the other: torch's fused one, apex's, bitsandbytes' (bitsandbytes/optim/optimizer.py: step).

    (Names: transformers 4.57.1 training_args.py: OptimizerNames.)
    """
    named = str(plan.values.get("optimizer", "")).lower()
    by_name = any(word in named for word in ("fused", "8bit", "lion_32bit", "ademamix")) or named.startswith("paged")
    return plan.values.get("fused_optimizer") is True or by_name


def _adafactor(plan: Plan) -> tuple[Band, str]:
    """Of one matrix after the other its squares and its update in fp32, and where it is of another type it and its gradient as well.

    (transformers 4.52 optimization.py: Adafactor.step)
    """
    largest = plan.shape.embedding if plan.trained >= plan.shape.parameters else min(plan.trained, plan.shape.layer / 3)
    copies = 2 if plan.each.weights >= 4 else 4
    return exactly(copies * 4 * largest), f"{copies} × 4 B × {count(largest)}, one matrix at a time"
