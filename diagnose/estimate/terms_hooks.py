"""What hooks of sharding hold of layers that are recomputed."""

from __future__ import annotations

from diagnose.estimate.plan import Plan
from diagnose.estimate.rank import local_tokens, stream_bytes
from diagnose.estimate.term import Band, make_term
from diagnose.estimate.terms_activation import checkpointing, held_layers
from diagnose.estimate.terms_megatron import held_by_dispatchers, of_megatron
from diagnose.estimate.tokens import Pass
from diagnose.types import Term

_HOOKS = (
    "torch 2.4 distributed/fsdp/_runtime_utils.py: _register_post_backward_reshard_only_hook; utils/checkpoint.py: CheckpointFunction;"
    " autograd/graph.py: register_multi_grad_hook"
)


def kept_by_hooks(plan: Plan, one: Pass) -> list[Term]:
    """Gradients of the layers' inputs that hooks hold until the backward pass is over, and with them the checkpoints that are done.

    FSDP1 frees a unit without trained weights when the gradients of its inputs are there. Recomputed in a backward pass of its own, a layer
    has a detached input, whose accumulator the hook keeps alive with the input and its gradient. The first and the last layer are counted
    where all layers are. Low: none, where nothing says how layers are recomputed.
    """
    if checkpointing(plan) == "full" and of_megatron(plan):
        return held_by_dispatchers(plan, one)
    frozen = plan.values.get("strategy") == "fsdp" and bool(plan.adapters) and plan.split.group > 1
    reentrant = plan.values.get("reentrant_checkpointing")
    if not frozen or reentrant is False or checkpointing(plan) != "full":
        return []
    layers, each = max(0, held_layers(plan, 1) - 2), stream_bytes(plan)
    size = local_tokens(plan, one).times(layers * each * plan.model.hidden)
    if reentrant is None:
        size = Band(0.0, 0.0, size.high)
    how = f"{one.how} × {plan.model.hidden:,} × {layers} layers × {each} B"
    moved_by = (*one.moved_by, "gradient_checkpointing", "reentrant_checkpointing")
    return [make_term("input_gradients", "gradients of layer inputs", "work", size, how, _HOOKS, moved_by)]
