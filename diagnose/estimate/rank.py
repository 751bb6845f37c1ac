"""What one rank computes of a pass: in which type, how many of its tokens, and how wide its layers are."""

from __future__ import annotations

from diagnose.estimate.built import with_all_experts
from diagnose.estimate.frozen import fp32_between_layers
from diagnose.estimate.layer import Widths, widths
from diagnose.estimate.once import once
from diagnose.estimate.plan import Plan
from diagnose.estimate.spread import outer_in_fp32
from diagnose.estimate.term import Band
from diagnose.estimate.tokens import Pass


def autocasts(plan: Plan) -> bool:
    """Whether bf16 comes from autocast over whole fp32 weights; sharded weights are cast when they are gathered.

    FSDP2 gathers in the type of its policy on a single GPU as well (torch 2.6 distributed/fsdp/_fully_shard/_fsdp_param.py:
    init_dtype_attrs), where FSDP1 falls back to whole weights (distributed/fsdp/_init_utils.py: NO_SHARD).
    """
    part = plan.adapters or "trained_layers" in plan.values
    whole_fp32 = plan.each.weights >= 4 and not part and plan.values.get("precision") != "fp32"
    return whole_fp32 and (plan.split.stage < 3 or _alone(plan))


@once
def fp32_around_products(plan: Plan) -> bool:
    """Whether norms and what runs between the layers are fp32 and products get bf16.

    So it is under autocast over fp32 weights, of which those of linear layers may be in 16 bits already.
    """
    return autocasts(plan) or outer_in_fp32(plan.values, plan.does)


def copies_in_fp32(plan: Plan) -> bool:
    """Whether fp32 copies of embedding and head are trained beside adapters: what runs between the layers starts from that table, and
    autocast casts that head."""
    beside = bool(plan.adapters) and plan.values.get("trains_embeddings") is True and not plan.each.quantized
    alone = plan.values.get("strategy") in ("ddp", "none") and plan.values.get("precision") == "mixed"
    return beside and alone and plan.each.base == 2


def casts_frozen(plan: Plan) -> bool:
    """Whether autocast makes 16-bit copies of a frozen fp32 base, which the graph keeps for the gradients of what its layers read.

    (torch 2.13 nn/functional.py: linear saves the weight that it multiplies by; ATen/autocast_mode.cpp: cached_cast) Not where a default
    alone makes it fp32 and no card holds it so.
    """
    wide = bool(plan.adapters) and plan.each.base >= 4 and not plan.each.quantized and "precision" not in plan.missing
    computes = plan.values.get("precision") == "mixed" and plan.values.get("autocast") is not False
    return wide and computes and plan.values.get("strategy") in ("ddp", "none")


def in_fp32(plan: Plan) -> bool:
    """Whether everything is computed in fp32: whole weights of that type, and no autocast that is told."""
    return (
        plan.values.get("precision") == "fp32" and plan.values.get("autocast") is not True and not plan.each.quantized
    )


@once
def stream_bytes(plan: Plan) -> int:
    """Bytes of a number that runs from layer to layer."""
    wide = fp32_around_products(plan) or copies_in_fp32(plan) or casts_frozen(plan)
    return 4 if wide or fp32_between_layers(plan) or in_fp32(plan) else 2


def _alone(plan: Plan) -> bool:
    return plan.split.group == 1 and plan.values.get("strategy") != "fsdp2"


def sequence_split(plan: Plan) -> bool:
    """Whether tensor-parallel ranks divide the tokens between their matrices as well; taken so where nothing says otherwise."""
    return plan.values.get("sequence_parallel") is not False


def local_tokens(plan: Plan, one: Pass) -> Band:
    """Tokens of one rank: tensor parallelism divides every activation where it splits the sequence too, else only those inside
    attention and MLP, which ``rank_widths`` narrows (Korthikanti et al., section 4.2 against 4.1)."""
    tp = plan.whole("tp") if sequence_split(plan) else 1
    return one.tokens.times(1 / tp) if tp > 1 else one.tokens


@once
def rank_widths(plan: Plan) -> Widths:
    """The widths of a layer on one rank, for as many tokens as ``local_tokens`` gives it."""
    model = plan.model if plan.values.get("strategy") == "megatron" else with_all_experts(plan.model)
    w, tp = widths(model, plan.does.get("fused_query") == "yes"), plan.whole("tp")
    split = tp > 1 and not sequence_split(plan)
    own = w._replace(mlp=w.mlp / tp, keys=w.keys / tp, heads=w.heads / tp, queries=w.q / tp) if split else w
    return _of_shared_heads(plan, own)._replace(routed=w.routed * _ranks_of_an_expert(plan))


def _of_shared_heads(plan: Plan, w: Widths) -> Widths:
    """Ranks that share a sequence outside the attention and its heads inside: each has heads of key and value of its own, repeated where
    they are fewer than ranks, and the attention's output twice, as its kernel gives it and sent back for the next product.

    (deepspeed 0.17.2 runtime/sequence_parallel/ulysses_sp.py: UlyssesSPAttentionHF; verl-project/verl@1dda039
    verl/models/transformers/monkey_patch.py: _ulysses_flash_attention_forward)
    """
    sp, model = plan.whole("sp"), plan.model
    if sp < 2 or plan.does.get("sequence_ranks") != "share_heads" or w.mixes is not None or model.latent:
        return w
    return w._replace(repeats=max(1, sp // model.kv_heads), out=2 * (w.out or w.q))


def _ranks_of_an_expert(plan: Plan) -> int:
    """Ranks that each hold a part of an expert and read all of its rows, which they gather from one another.

    (NVIDIA/Megatron-LM@d98e8a6 core/transformer/moe/token_dispatcher.py: MoEAlltoAllTokenDispatcher.dispatch_postprocess)
    """
    if plan.values.get("strategy") != "megatron" or not sequence_split(plan):
        return 1
    return plan.whole("etp") if "etp" in plan.values else plan.whole("tp")


@once
def over_ranks(plan: Plan) -> str:
    tp = plan.whole("tp") if sequence_split(plan) else 1
    return f" ÷ {tp}" if tp > 1 else ""
