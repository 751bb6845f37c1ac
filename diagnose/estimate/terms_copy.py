"""Copies of the trained model that a trainer makes beside it: to hand its weights over, or by accident."""

from __future__ import annotations

from diagnose.estimate.plan import Plan
from diagnose.estimate.term import count, make_term
from diagnose.types import Term

_SPLIT = ("zero_stage", "shard_size", "tp", "pp", "ep")
_ENCODED = "huggingface_hub v0.33.0 hub_mixin.py: __new__, _encode_arg, by dataclasses.asdict"


def state_dict_copy(plan: Plan) -> Term:
    """The trainer's shard once more, or the adapters in fp32."""
    parameters, each = (plan.adapters, 4.0) if plan.adapters else (plan.split.shard(3), plan.each.weights)
    how = f"{count(parameters)} × {each:g} B"
    source = "torch 2.6 distributed/fsdp/_state_dict_utils.py:506-570"
    return make_term("state_dict_copy", "copy for the weight sync", "work", parameters * each, how, source, _SPLIT)


def model_copy(plan: Plan, weights: Term) -> Term:
    """All that ``weights`` are, as they are before an engine casts them: fp32 where all is trained in mixed precision."""
    moved_by = (*_SPLIT, "precision", "full_or_lora")
    size, how = float(weights.bytes), weights.how
    if plan.values.get("full_or_lora") == "full" and plan.values.get("precision") not in ("bf16", "fp16"):
        size, how = 4 * plan.split.whole, f"{count(plan.split.whole)} × 4 B"
    return make_term("model_copy", "copy of the model", "held", size, how, _ENCODED, moved_by)
