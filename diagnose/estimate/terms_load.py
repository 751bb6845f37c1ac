"""What stands on a GPU for a moment while the trainer loads."""

from __future__ import annotations

from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, count, make_term
from diagnose.estimate.terms_held import held, trained_shard
from diagnose.estimate.untold_state import place_untold
from diagnose.types import Term

_FSDP = "torch 2.6 distributed/fsdp/_runtime_utils.py:482-496, 745-757, 880-892"
_BUILT = (
    "DeepSpeed v0.16.4 runtime/zero/stage_1_and_2.py: initialize_optimizer_states; stage3.py: _setup_for_real_optimizer"
)
_BUILT_BY = ("zero_stage", "shard_size", "tp", "pp", "full_or_lora", "lora_rank", "optimizer_on_cpu")
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


def optimizer_built(plan: Plan) -> list[Term]:
    """What stands beside the weights where the failure is known to be in the building of the optimizer: its fp32 weights.

    DeepSpeed gives them fp32 gradients of zeros. Before deepspeedai/DeepSpeed@1817980 it made a step with these, at stage 3 one for each
    group of weights, so that Adam's moments came as well.
    """
    if not plan.builds_optimizer or "actor_optimizer" not in plan.holds("optimizer_step", "gpu"):
        return []
    shard, each, stage = trained_shard(plan, 1), plan.each.masters, plan.split.stage
    zeros = 0.0 if plan.values.get("strategy") == "megatron" else 4.0
    most = plan.each.optimizer if zeros and stage >= 3 else each
    least = 0.0 if place_untold(plan) else each * shard
    how = f"{count(shard)} × {each:g} B of fp32 weights" + (f" + {zeros:g} B of fp32 gradients" if zeros else "")
    size = Band(least, (each + zeros) * shard, (most + zeros) * shard)
    built = make_term("optimizer_built", "the optimizer as it is built", "work", size, how, _BUILT, _BUILT_BY)
    # Megatron's buffer of gradients stands since the model was wrapped (_BUFFERS)
    gradients = None if zeros else held(plan, "actor_gradients")
    return [built, gradients] if gradients else [built]


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
