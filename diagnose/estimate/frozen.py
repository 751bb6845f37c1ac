"""A frozen base under adapters: what of it a quantizer leaves as it is, whether its type is known, in which type it hands values on."""

from __future__ import annotations

from diagnose.conditions import in_range
from diagnose.estimate import tuners
from diagnose.estimate.layer import ADAPT_THE_MLP, Widths
from diagnose.estimate.plan import Plan
from diagnose.estimate.spread import adapted_layers, in_experts

_OF_LINEAR_LAYERS = ("nf4", "int8")  # bitsandbytes
_LEFT_SINCE = "0.19.2"


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


def fp32_between_layers(plan: Plan) -> bool:
    """Whether what runs from layer to layer is fp32 because norms are, in front of quantized products.

    peft utils/other.py at 5d602fd, prepare_model_for_kbit_training: whatever is not quantized is cast to fp32; or it is loaded so, with
    the embedding that the stream begins with. An fp32 weight makes a norm's output fp32, and the last product of the MLP gives the type
    that it gets, so that its sum with the stream is fp32. Where fp16 would overflow the stream and the inside of the MLP are fp32 around
    products in 16 bits.
    """
    norms = bool(plan.each.quantized) and (plan.values.get("norms_fp32") is True or plan.each.base >= 4)
    return norms or (plan.values.get("fp32_activations") is True and plan.values.get("precision") != "fp32")


def inputs_shared(plan: Plan) -> bool:
    """Whether adapters keep the value that they read itself, so that those that read the same one keep it once.

    peft casts to the adapter's type, each adapter anew, and does nothing where that is the value's own 16 bits, as DeepSpeed makes
    adapters and FSDP gathers them; beside bitsandbytes' layers it casts nothing under autocast, which leaves 16 bits as they are (peft
    0.21 tuners/lora/layer.py: Linear.forward, tuners/lora/bnb.py: Linear4bit.forward). A dropout makes each adapter a copy of its own.
    """
    if plan.values.get("adapter_dropout") is not False or fp32_between_layers(plan) or _left_in_fp32(plan):
        return False
    gathered = plan.split.stage == 3 and plan.split.group > 1 and plan.values.get("strategy") in ("fsdp", "fsdp2")
    in_16_bits = (plan.each.weights <= 2 and plan.each.base == 2) or gathered
    if in_16_bits and plan.values.get("precision") != "fp32" and plan.values.get("strategy") != "megatron":
        return True
    by_bits = bool(plan.each.quantized) and plan.values.get("quantization", "nf4") in _OF_LINEAR_LAYERS
    return by_bits and plan.values.get("autocast") is not False


def casts_in_the_mlp(plan: Plan) -> bool:
    """Whether adapters on the MLP read copies of their own of what its products read."""
    on_all = adapted_layers(plan.values, plan.does) in ADAPT_THE_MLP
    return bool(plan.adapters) and on_all and tuners.kind(plan.model, plan.values) != "vera" and not inputs_shared(plan)


def dropped_bytes_per_token(plan: Plan, w: Widths) -> float:
    """What a layer's last adapter makes on its way forward while all that the layer keeps still stands, where it drops out in fp32.

    The product in 16 bits, in fp32, and in fp32 dropped out; and the layer's own gradient, the stream, the MLP's input and the output of
    the frozen product (peft 0.20 tuners/lora/layer.py: Linear.forward). Beside bitsandbytes' layers nothing is cast under autocast.
    """
    in_fp32 = (
        plan.each.weights >= 4 and plan.each.base == 2 and not plan.each.quantized and not fp32_between_layers(plan)
    )
    drops = adapter_input_bytes(plan) == 3.0 and not tuners.kind(plan.model, plan.values)
    return 10 * w.mlp + 8 * w.hidden if in_fp32 and drops and casts_in_the_mlp(plan) else 0.0


def adapter_input_bytes(plan: Plan) -> float:
    """Bytes that an adapter keeps of each value that it reads, where it keeps one of its own: in 16 bits, and a mask of its dropout.

    Without autocast the fp32 copy that peft makes for an adapter in fp32 is what the product reads (tuners/lora/layer.py: Linear.forward).
    """
    drops = plan.values.get("adapter_dropout")
    without = plan.values.get("autocast") is False and plan.each.weights >= 4 and plan.each.base == 2
    if without or _left_in_fp32(plan):
        return 5.0 if drops is True else 4.0
    if isinstance(drops, bool):
        return 3.0 if drops else 2.0
    return plan.number("adapter_input_bytes") or 2.0


def _left_in_fp32(plan: Plan) -> bool:
    """Whether DeepSpeed leaves adapters as peft made them: of a model that was made sharded, since it casts by its own types.

    (deepspeedai/DeepSpeed v0.19.2 deepspeed/runtime/engine.py: _configure_distributed_model)
    """
    sharded = plan.values.get("strategy") == "deepspeed" and plan.split.stage == 3
    return sharded and plan.deepspeed is not None and in_range(_LEFT_SINCE, "", plan.deepspeed)
