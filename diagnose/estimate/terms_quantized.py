"""What quantized linear layers need for a moment: the matrix in 16 bits while it is multiplied, and inputs that nothing frees.

bitsandbytes before 0.43.2 keeps the input of a 4-bit product on the autograd node and not among the tensors that the backward pass
frees (autograd/_functions.py: MatMul4Bit; "fix QLoRA mem bug", github.com/bitsandbytes-foundation/bitsandbytes/pull/1270), so that it
stays as long as the graph does: a loop that holds its loss until the next one replaces it carries the inputs of two passes.

A GPTQ layer is unpacked by ordinary operations, so that autograd keeps its 16-bit matrix until the backward pass has used it; AWQ's
own function unpacks it once more instead (AutoGPTQ 0.5.1 nn_modules/qlinear/qlinear_cuda_old.py: forward; AutoAWQ modules/linear/gemm.py).
"""

from __future__ import annotations

from diagnose.estimate.layer import quantized_input_bytes_per_token, widths
from diagnose.estimate.plan import Plan
from diagnose.estimate.spread import in_experts
from diagnose.estimate.term import Band, count, make_term
from diagnose.estimate.terms_activation import checkpointing
from diagnose.estimate.tokens import Pass
from diagnose.types import Term

_MATMUL = "bitsandbytes 0.42.0 autograd/_functions.py: MatMul4Bit; functional.py: dequantize_4bit"
_UNPACKED = "AutoGPTQ 0.5.1 auto_gptq/nn_modules/qlinear/qlinear_cuda_old.py: QuantLinear.forward"
_SHIFTED_BYTES = 5.0  # of one matrix: shifted as int32, then as int8
_CAST = "torch 2.6 aten/src/ATen/autocast_mode.cpp: cached_cast, which keeps copies of what is trained alone"
_DEQUANTIZED = 2.0  # the compute type; a second copy where the quantizer was made in another type


def quantized_inputs(plan: Plan, one: Pass, before: bool) -> list[Term]:
    """Inputs that the products of this pass hold, and those of the pass ``before`` while its loss is still there."""
    passes = plan.number("quantized_inputs") or 0.0
    if not plan.each.quantized or not passes:
        return []
    w, layers = widths(plan.model), 1 if checkpointing(plan) == "full" else plan.model.layers
    each = quantized_input_bytes_per_token(w)
    if before and passes > 1:
        each += quantized_input_bytes_per_token(w) + 2 * w.q  # the attention's output is kept by nothing else then
    how = f"{one.how} × {each:,.0f} B × {layers} layers"
    size = one.tokens.times(each * layers)
    moved_by = (*one.moved_by, "quantization", "gradient_checkpointing")
    return [make_term("quantized_inputs", "inputs of quantized layers", "work", size, how, _MATMUL, moved_by)]


def dequantized(plan: Plan, head: bool) -> list[Term]:
    """The largest quantized matrix while it is multiplied: of a layer, or the ``head`` where that is quantized as well.

    Experts of one tensor are unpacked all at once, and stay so from a layer's forward pass to its backward pass (Axolotl@067b021
    monkeypatch/moe_quant.py; bitsandbytes 0.49 nn/parametrize.py).
    """
    if plan.values.get("quantization") == "int4":
        return [] if head else unpacked(plan)
    if not plan.each.quantized or (head and plan.does.get("quantized_head") != "yes"):
        return []
    width = plan.model.moe.width if plan.model.moe else plan.model.intermediate
    matrix = plan.shape.embedding if head else plan.model.hidden * width
    if not head and plan.values.get("experts_quantized") is True and plan.model.sparse:
        matrix = round(in_experts(plan.model) / plan.model.sparse)
    each = plan.number("dequantized_bytes") or _DEQUANTIZED
    how = f"{count(matrix)} × {each:g} B"
    return [make_term("dequantized", "a matrix in 16 bits", "work", matrix * each, how, _MATMUL, ("quantization",))]


def unpacked(plan: Plan) -> list[Term]:
    """The 16-bit matrices of GPTQ layers that autograd keeps, of one layer where layers are recomputed, and one on its way; low: AWQ."""
    if not plan.each.quantized:
        return []
    layers = 1 if checkpointing(plan) == "full" else plan.model.layers
    linear = (plan.shape.parameters - plan.shape.root - plan.shape.vision) * layers / plan.model.layers
    one = plan.model.hidden * (plan.model.moe.width if plan.model.moe else plan.model.intermediate)
    size = Band(2 * one, 2 * linear + _SHIFTED_BYTES * one, 2 * linear + _SHIFTED_BYTES * one)
    how = f"2 B × {count(linear)} of {layers} layers + {_SHIFTED_BYTES:g} B × {count(one)}"
    moved_by = ("quantization", "gradient_checkpointing")
    return [make_term("dequantized", "matrices in 16 bits", "work", size, how, _UNPACKED, moved_by)]


def head_cast(plan: Plan) -> list[Term]:
    """The 16-bit copy of a frozen head in fp32, which its product keeps from the forward pass until its own backward pass is over."""
    if not plan.each.quantized or (plan.number("root_bytes") or 0.0) < 4 or not plan.makes_logits:
        return []
    how = f"{count(plan.shape.embedding)} × 2 B"
    return [
        make_term("head_cast", "the head in 16 bits", "work", 2 * plan.shape.embedding, how, _CAST, ("norms_fp32",))
    ]
