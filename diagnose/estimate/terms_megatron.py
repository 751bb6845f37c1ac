"""What Megatron holds in a pass beside what its layers keep: rows on their way through experts, graphs of recomputed layers that nobody
drops, and tensors that stand where autograd looks for gradients.

benchmarks/trainers/run_megatron.py measures them with Megatron-core's own code.
"""

from __future__ import annotations

import re

from diagnose.estimate.layer import widths
from diagnose.estimate.plan import Plan
from diagnose.estimate.rank import in_fp32, local_tokens, over_ranks, rank_widths
from diagnose.estimate.term import count, make_term
from diagnose.estimate.tokens import Pass
from diagnose.types import Term

# The rows before they are sorted by expert, what experts give, and the same sorted back; beside these the rows as another rank sent them.
_ROWS, _ROWS_OF_RANKS = 3, 4
_DISPATCHER = (
    "Megatron-core 0.16.1 core/transformer/moe/token_dispatcher.py: MoEAlltoAllTokenDispatcher.dispatch_preprocess keeps the"
    " probabilities with their graph (0.10 to 0.16); core/tensor_parallel/random.py: CheckpointFunction.backward"
)
_STAND_INS = (
    "TransformerEngine 2.9 pytorch/module/base.py: get_dummy_wgrad; Megatron-core 0.14 core/tensor_parallel/layers.py:"
    " LinearWithGradAccumulationAndAsyncCommunication.backward"
)


def of_megatron(plan: Plan) -> bool:
    """Whether the layers are Megatron's, of Transformer Engine's modules whatever is recomputed."""
    return plan.values.get("strategy") == "megatron" and not in_fp32(plan)


def dispatched_bytes_per_token(plan: Plan) -> float:
    """Rows of a token's experts that a forward pass holds at its end beside those that the layer keeps; 0 without experts.

    (Megatron-core 0.13 to 0.16 core/transformer/moe/moe_layer.py: MoELayer.forward, whose names hold the rows until it is over.)
    """
    w = rank_widths(plan)
    number = _ROWS_OF_RANKS if plan.whole("ep") > 1 else _ROWS
    return 2.0 * number * w.routed if of_megatron(plan) else 0.0


def held_by_dispatchers(plan: Plan, one: Pass) -> list[Term]:
    """Gradients of the inputs of recomputed layers with experts, and with them the checkpoints that are done.

    The dispatcher keeps each layer's probabilities until the next forward pass, and with them the graph back to the input that was
    detached for the recomputation, a leaf that has a gradient. The last layer to be recomputed has none yet.
    """
    if not plan.model.moe or not of_megatron(plan):
        return []
    layers = (plan.stage_layers or plan.model.layers) * plan.model.sparse / plan.model.layers
    each = 2 * plan.model.hidden * max(0.0, layers - 1)
    how = f"{one.how} × {plan.model.hidden:,} × {max(0.0, layers - 1):g} layers × 2 B{over_ranks(plan)}"
    size = local_tokens(plan, one).times(each)
    moved_by = (*one.moved_by, "gradient_checkpointing", "pp", "tp")
    return [make_term("input_gradients", "gradients of layer inputs", "work", size, how, _DISPATCHER, moved_by)]


def left_by_dispatchers(plan: Plan, one: Pass) -> list[Term]:
    """What the graphs of all layers still hold when the step comes: the inputs of what was recomputed and their gradients."""
    chosen = str(plan.values.get("gradient_checkpointing", "full")).lower()
    experts = chosen == "selective" and "moe" in re.findall(r"\w+", str(plan.values.get("recompute_modules", "")))
    if not plan.model.moe or not of_megatron(plan) or not (chosen in ("full", "true") or experts):
        return []
    layers = (plan.stage_layers or plan.model.layers) * plan.model.sparse / plan.model.layers
    size = local_tokens(plan, one).times(4 * plan.model.hidden * layers)
    how = f"{one.how} × {plan.model.hidden:,} × {layers:g} layers × 4 B{over_ranks(plan)}"
    title, moved_by = "inputs of layers and their gradients", (*one.moved_by, "gradient_checkpointing", "pp", "tp")
    return [make_term("input_gradients", title, "work", size, how, _DISPATCHER, moved_by)]


def gradient_stand_ins(plan: Plan) -> list[Term]:
    """One tensor in 16 bits for every shape of a dense matrix, where kernels add the gradient to its buffer themselves.

    Experts' are made and dropped with each product. Adapters are small, and what is frozen has none.
    """
    if not of_megatron(plan) or plan.adapters or "trained_layers" in plan.values:
        return []
    w, tp, moe = widths(plan.model), plan.whole("tp"), plan.model.moe
    inward = 2 if w.gated else 1
    mlp = moe.shared if moe else plan.model.intermediate
    matrices = w.hidden * (w.q + 2 * w.keys + w.read + (inward + 1) * mlp)
    table = plan.shape.embedding if plan.stage in ("", "last") else 0
    size, how = 2 * (matrices + table) / tp, f"2 B × ({count(matrices)} of one layer + {count(table)} of the head)"
    how += f" ÷ {tp}" if tp > 1 else ""
    title = "stand-ins for gradients"
    return [make_term("gradient_stand_ins", title, "work", size, how, _STAND_INS, ("tp", "full_or_lora"))]
