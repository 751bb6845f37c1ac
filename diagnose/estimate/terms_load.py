"""What stands on a GPU for a moment while the trainer loads."""

from __future__ import annotations

from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, count, make_term
from diagnose.estimate.terms_held import held
from diagnose.types import Term

_FSDP = "torch 2.6 distributed/fsdp/_runtime_utils.py:482-496, 745-757, 880-892"
_BUFFERS = "Megatron-LM core/distributed/param_and_grad_buffer.py: param_data and grad_data, which stand before old_param_data is freed"


def load_transient(plan: Plan) -> list[Term]:
    """What stands on the GPU while the trainer loads, beside the shard."""
    kind = plan.does.get("load_on_gpu", "shard")
    root = plan.shape.root / plan.whole("tp")
    if kind == "flat_buffers":
        return [_flat_buffers(plan)]
    if kind == "shard_and_root":
        size, how = 4 * root, f"4 B × {count(root)} of the root unit"
    elif kind == "whole_model" and plan.split.stage >= 3:
        to_host = plan.values.get("strategy") == "deepspeed" and plan.values.get("param_on_cpu") is True
        each, there = _as_loaded(plan), not to_host
        size = each * (plan.split.whole - (plan.split.shard(3) if there else 0))
        how = f"{count(plan.split.whole)} × {each:.3g} B{' less the shard' if there else ''}"
    elif plan.framework.fallback and plan.split.stage >= 3 and plan.values.get("strategy") != "deepspeed":
        return [_perhaps_whole(plan)]
    else:
        return []
    return [make_term("load_transient", "loading", "work", size, how, _FSDP, ("zero_stage",))]


def _as_loaded(plan: Plan) -> float:
    """Bytes of a parameter as it comes onto the card: those of 4 bits are quantized one by one."""
    shard = held(plan, "actor_weights", "gpu") if plan.values.get("quantization") else None
    return shard.bytes / plan.split.shard(3) if shard else plan.each.unpacked


def _flat_buffers(plan: Plan) -> Term:
    """Buffers for all weights and gradients, made before the weights move into theirs; a reference comes after that."""
    each = plan.each.weights + plan.each.gradients
    later = plan.each.ref * plan.split.whole if "ref_weights" in plan.holds("load", "gpu") else 0.0
    how = f"{count(plan.trained)} × {each:g} B for weights and gradients"
    moved_by = ("tp", "pp", "ep", "full_or_lora")
    return make_term("load_transient", "loading", "work", each * plan.trained - later, how, _BUFFERS, moved_by)


def _perhaps_whole(plan: Plan) -> Term:
    """Of an unknown trainer it is not known whether it shards while it loads or puts the whole model on every card first."""
    each = plan.each.unpacked
    rest = plan.split.whole - plan.split.shard(3)
    how = f"up to {count(rest)} × {each:g} B, if the model is whole on every card before it is sharded"
    return make_term("load_transient", "loading", "work", Band(0, 0, each * rest), how, _FSDP, ("zero_stage",))
