"""A frozen base under adapters: what of it a quantizer leaves as it is, and whether its type is known."""

from __future__ import annotations

from diagnose.estimate.plan import Plan
from diagnose.estimate.spread import in_experts

_OF_LINEAR_LAYERS = ("nf4", "int8")  # bitsandbytes


def base_type_unknown(plan: Plan) -> bool:
    """Whether a frozen base may be fp32, which transformers before 5 loads unless a type is asked for."""
    return bool(plan.adapters) and "precision" not in plan.values and not plan.each.quantized


def not_quantized(plan: Plan) -> int:
    """Embedding, vision tower and norm, experts of one tensor, and the head as well where the framework leaves it as it is."""
    head = 0 if plan.model.tied or plan.does.get("quantized_head") != "yes" else plan.shape.embedding
    return plan.shape.root + plan.shape.vision - head + experts_in_16_bits(plan)


def experts_in_16_bits(plan: Plan) -> int:
    """Parameters of experts that a quantizer of linear layers does not see, all layers together.

    (transformers 5.0 integrations/bitsandbytes.py: replace_with_bnb_linear; checkpoints in 4 bits by another method hold them quantized.)
    """
    moe = plan.model.moe
    unseen = moe is not None and moe.stacked and not moe.split_to_quantize
    by_linear_layers = plan.values.get("quantization") in _OF_LINEAR_LAYERS and plan.each.quantized > 0
    if not unseen or not by_linear_layers or plan.values.get("experts_quantized") is True:
        return 0
    return round(in_experts(plan.model))
