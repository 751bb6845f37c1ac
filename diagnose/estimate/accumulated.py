"""Whether the gradients of several micro batches add up before the optimizer steps."""

from __future__ import annotations

from diagnose.batch import rows_held, whole
from diagnose.estimate.once import once
from diagnose.estimate.plan import Plan


@once
def one_micro_batch(plan: Plan) -> bool:
    """Whether an optimizer step has a single micro batch: as is told, or where that takes all rows that a GPU holds of a mini batch."""
    if plan.values.get("gradient_accumulation") == 1:
        return True
    if not plan.online or plan.values.get("dynamic_batch") is True:
        return False
    held, micro = rows_held(plan.values, "mini_batch_size"), whole(plan.values, "micro_batch")
    return bool(held and micro and held <= micro)
