"""The weights of the rollout engine on a training GPU: a copy in the bits that it keeps, or none of its own."""

from __future__ import annotations

from diagnose.estimate.once import once
from diagnose.estimate.plan import Plan
from diagnose.estimate.shape import lora_parameters
from diagnose.estimate.sharding import QUANTIZED
from diagnose.estimate.spread import in_experts
from diagnose.estimate.term import count, make_term
from diagnose.estimate.terms_held import base_bytes
from diagnose.types import Term

# unslothai/unsloth-zoo@ce232d6 unsloth_zoo/vllm_utils.py: load_vllm, get_vllm_state_dict, convert_vllm_to_huggingface
_SHARED = "vLLM lora/layers: create_lora_weights; the base layers are views of the engine's tensors"


def engine_weight_bytes(
    *,
    parameters: float,
    tp: int,
    root: float = 0.0,
    each: float = 2.0,
    experts: float = 0.0,
    ep: int = 1,
    pp: int = 1,
    experts_alone: bool = False,
) -> float:
    """The engine's copy: bf16, or ``each`` bytes a parameter where it is quantised, which leaves table and head (``root``) in bf16.

    ``experts`` of the parameters are spread over ``ep`` GPUs where that is more than ``tp`` (vLLM
    model_executor/layers/fused_moe/config.py: FusedMoEParallelConfig.make). Of ``pp`` stages an outer one holds table or head, taken
    as half of both. ``experts_alone``: no other layer is quantised.
    """
    dense = 2.0 if experts_alone else each
    body = dense * (parameters - root - experts) / tp + each * experts / max(ep, tp)
    return 2 * root / tp / min(pp, 2) + body / pp


def engine_weights(plan: Plan) -> Term:
    if shares_base(plan):
        rank = plan.whole("engine_lora_rank")
        how = f"the base is the trainer's own + room for an adapter of rank {rank}, 2 B a parameter"
        return make_term(
            "engine_weights", "engine's adapter", "engine", _room_for_adapter(plan), how, _SHARED, ("engine_lora_rank",)
        )
    tp = plan.whole("rollout_tp") * plan.whole("rollout_pp")
    size, each = weight_bytes(plan), _stored(plan)
    kept = "" if each == 2.0 else f", {'all but experts' if _of_experts(plan) else 'table and head'} in bf16"
    over, ep = f" ÷ {tp}" if tp > 1 else "", plan.whole("rollout_ep")
    over += f", experts ÷ {ep}" if plan.model.moe and ep > tp else ""
    spoken = plan.model.vision.spoken if plan.model.vision else 0
    how = f"{count(plan.shape.parameters - spoken)} × {each:g} B{kept}{over}"
    spread = ("rollout_tp", "rollout_pp", *(("rollout_ep",) if plan.model.moe else ()))
    moved_by = (*spread, "model", "engine_quantization")
    return make_term("engine_weights", "engine's weights", "engine", size, how, "vLLM model_executor", moved_by)


def _stored(plan: Plan) -> float:
    """Bytes a parameter of the engine's linear layers."""
    return QUANTIZED.get(str(plan.values.get("engine_quantization")), 2.0)


def _of_experts(plan: Plan) -> bool:
    """Whether the experts alone are quantised (arXiv:2508.10925, section 2.1)."""
    return plan.values.get("engine_quantization") == "mxfp4"


def shares_base(plan: Plan) -> bool:
    """Whether the engine was loaded first and the trainer's base layers are views of its tensors, 4-bit ones and their scales too."""
    return plan.values.get("engine_shares_weights") is True and bool(plan.adapters)


def shares_all(plan: Plan) -> bool:
    """Whether it samples with the very weights that are trained (Megatron-LM@d98e8a6 megatron/rl/rl_utils.py)."""
    return plan.values.get("engine_shares_weights") is True and not plan.adapters


def _room_for_adapter(plan: Plan) -> float:
    """vLLM's own tensors for an adapter on all linear layers, in the type of the model (vLLM lora/layers: create_lora_weights)."""
    return 2.0 * lora_parameters(plan.model, plan.whole("engine_lora_rank"))


@once
def weight_bytes(plan: Plan) -> float:
    """What loading takes of the engine's share, weights that the trainer works with as well included."""
    if shares_base(plan):
        return base_bytes(plan) + _room_for_adapter(plan)
    spoken = plan.model.vision.spoken if plan.model.vision else 0
    return engine_weight_bytes(
        parameters=plan.shape.parameters - spoken,
        tp=plan.whole("rollout_tp"),
        root=plan.shape.root,
        each=_stored(plan),
        experts_alone=_of_experts(plan),
        experts=in_experts(plan.model),
        ep=plan.whole("rollout_ep"),
        pp=plan.whole("rollout_pp"),
    )
