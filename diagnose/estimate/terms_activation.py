"""Activations of the decoder as terms: what is kept, what is put together again, what a mask or scores add."""

from __future__ import annotations

import re

from diagnose.batch import whole
from diagnose.estimate import tuners
from diagnose.estimate.frozen import (
    adapter_input_bytes,
    casts_in_the_mlp,
    dropped_bytes_per_token,
    fp32_between_layers,
    inputs_shared,
)
from diagnose.estimate.layer import (
    Widths,
    backward_bytes_per_token,
    checkpoint_bytes_per_token,
    chosen_products_bytes_per_token,
    frozen_layer_bytes_per_token,
    fused_layer_bytes_per_token,
    head_input_bytes_per_token,
    layer_bytes_per_token,
    no_grad_bytes_per_token,
    rotary_bytes_per_token,
)
from diagnose.estimate.layer_fp32 import (
    BACKWARD,
    FROZEN_HEAD_INPUT,
    HEAD_INPUT,
    NO_GRAD,
    fp32_frozen_layer_bytes_per_token,
    fp32_layer_bytes_per_token,
)
from diagnose.estimate.layer_kernels import spared_bytes_per_token
from diagnose.estimate.layer_te import (
    MASKS,
    TE_FROZEN_HEAD_INPUT,
    TE_HEAD_INPUT,
    te_frozen_layer_bytes_per_token,
    te_layer_bytes_per_token,
)
from diagnose.estimate.mixer import kinds
from diagnose.estimate.mlp_parts import at_work, in_parts, kept_widths, live_widths
from diagnose.estimate.once import once
from diagnose.estimate.part import part_of, with_gradients
from diagnose.estimate.plan import Plan
from diagnose.estimate.rank import (
    fp32_around_products,
    in_fp32,
    local_tokens,
    over_ranks,
    rank_widths,
    sequence_split,
    stream_bytes,
)
from diagnose.estimate.spread import adapted_layers
from diagnose.estimate.stages import in_flight
from diagnose.estimate.term import Band, exactly, make_term
from diagnose.estimate.terms_attention import attention_beside
from diagnose.estimate.terms_megatron import dispatched_bytes_per_token, of_megatron
from diagnose.estimate.terms_tuners import tuner_matrices
from diagnose.estimate.tokens import Pass
from diagnose.types import Term

LAYER = "autograd over transformers 4.51 models/qwen2/modeling_qwen2.py, held against tests/data/measured_cpu.toml"
_CHECKPOINT = "Chen et al., arXiv:1604.06174; Korthikanti et al., arXiv:2205.05198, section 5"
_MOVED = ("gradient_checkpointing", "recompute_modules", "tp")


@once
def checkpointing(plan: Plan) -> str:
    """``full``, ``selective`` or ``none``, from the fact as true, false or a word; unknown counts as ``full`` with a wide band."""
    stated = str(plan.values.get("gradient_checkpointing", "full")).lower()
    return {"true": "full", "full": "full", "selective": "selective"}.get(stated, "none")


def kept(plan: Plan, one: Pass, stages: int = 1) -> list[Term]:
    """What the whole forward pass leaves for the backward pass.

    The first of ``pp`` pipeline stages holds a part of the layers for as many micro batches in flight: all layers of one, where the
    stages are alike. With ``stages`` it is one stage's layers for one micro batch, as the last stage holds them.
    """
    w, layers, tokens = rank_widths(plan), held_layers(plan, stages), local_tokens(plan, one)
    mode = checkpointing(plan)
    if mode == "full":
        on_gpu = 2 if plan.values.get("activation_offload") is True else layers
        each = stream_bytes(plan)
        stream = checkpoint_bytes_per_token(hidden=w.hidden, layers=on_gpu, bytes_each=each)
        size = tokens.times(stream + rotary_bytes_per_token(w, each))
        how = f"{one.how} × {w.hidden:,} × {on_gpu} layers × {each} B{over_ranks(plan)}"
        if "gradient_checkpointing" not in plan.values:
            size = Band(size.low, size.mid, tokens.high * layers * _mean(plan, w))
            how += "; far more if every layer keeps all"
        moved_by = (*one.moved_by, *_MOVED, "activation_offload")
        return [make_term("checkpoints", "checkpoints", "work", size, how, _CHECKPOINT, moved_by)]
    each_layer = _mean(plan, w, selective=mode == "selective")
    how = f"{one.how} × {each_layer:,.0f} B × {layers} layers{over_ranks(plan)}"
    size = tokens.times(each_layer * layers)
    if mode == "none":
        # of a trainer whose code nobody read it may be on in the code
        inputs = checkpoint_bytes_per_token(hidden=w.hidden, layers=layers, bytes_each=stream_bytes(plan))
        low = tokens.low * inputs if "gradient_checkpointing" in plan.assumed else size.low
        size = Band(low, size.mid, tokens.high * layers * _mean(plan, w, at_most=True))
    terms = [make_term("activations", "activations", "work", size, how, LAYER, (*one.moved_by, *_MOVED))]
    terms += tuner_matrices(plan, layers)
    scored = layers * plan.model.attends // plan.model.layers
    return terms + attention_beside(plan, one, scored if mode == "none" or _keeps_scores(plan) else 1)


def _keeps_scores(plan: Plan) -> bool:
    """Whether modules are named that are made again, and the attention's own product is none of them."""
    named = re.findall(r"\w+", str(plan.values.get("recompute_modules", ""))) if of_megatron(plan) else []
    return bool(named) and "core_attn" not in named


def offloaded(plan: Plan, one: Pass) -> Band:
    """Bytes of the checkpoints of a pass that go to the host: of all layers but the two that stay."""
    if plan.values.get("activation_offload") is not True or checkpointing(plan) != "full":
        return exactly(0.0)
    each = stream_bytes(plan)
    return local_tokens(plan, one).times(max(0, held_layers(plan, 1) - 2) * each * plan.model.hidden)


def held_layers(plan: Plan, stages: int) -> int:
    """Layers times micro batches whose activations stand at once."""
    if plan.stage:
        return max(1, round(plan.stage_layers * in_flight(plan)))
    return max(1, _passed(plan) // (stages * plan.laid))


def _passed(plan: Plan) -> int:
    """Layers that the backward pass goes through: of a part that is trained, the last ones alone where nothing below asks for gradients."""
    last, part = whole(plan.values, "trained_layers") or 0, part_of(plan.model, plan.shape, plan.values)
    if plan.does.get("below_trained") != "nothing":
        return plan.model.layers
    return part.passed if part else min(last, plan.model.layers) if last > 0 else plan.model.layers


def head_inputs(plan: Plan, one: Pass) -> list[Term]:
    """What the last norm keeps, and what the head reads: there until the backward pass has gone through the head."""
    w = rank_widths(plan)
    each = head_input_bytes_per_token(w, fp32_around_products(plan), bool(plan.adapters))
    if in_fp32(plan):
        each = (FROZEN_HEAD_INPUT if plan.adapters else HEAD_INPUT) * w.hidden
    elif of_megatron(plan):
        each = (TE_FROZEN_HEAD_INPUT if plan.adapters else TE_HEAD_INPUT) * w.hidden
    how = f"{one.how} × {each:,.0f} B{over_ranks(plan)}"
    size = local_tokens(plan, one).times(each)
    return [make_term("last_norm", "last norm and its output", "work", size, how, LAYER, one.moved_by)]


def recomputed(plan: Plan, one: Pass) -> list[Term]:
    """One layer, or what of it is made again, put together in the backward pass, with its gradients on their way."""
    w, tokens = rank_widths(plan), local_tokens(plan, one)
    selective = checkpointing(plan) == "selective"
    again = max(_remade(plan, kind) for _, kind in _kinds(plan, w)) if selective else 0.0
    casts, at_once = casts_in_the_mlp(plan) and not in_fp32(plan), _one_expert(plan, w)
    moving = backward_bytes_per_token(at_once, casts, fp32_between_layers(plan)) * (BACKWARD if in_fp32(plan) else 1)
    moving = max(moving, dispatched_bytes_per_token(plan), dropped_bytes_per_token(plan, at_once))
    if tiled := in_parts(plan):
        moving = at_work(plan, w, tokens.mid)
    if checkpointing(plan) != "full" and not (selective and (again or _by_products(plan))):
        return _in_last_layer(plan, one, moving) if tiled or of_megatron(plan) else []
    each = (again or max(_layer(plan, kind) for _, kind in _kinds(plan, w))) + moving
    how = f"{one.how} × {each:,.0f} B of one layer{over_ranks(plan)}"
    term = make_term("activations", "one layer recomputed", "work", tokens.times(each), how, LAYER, one.moved_by)
    freed = tokens.mid * (moving + 8 * w.mlp + 8 * w.hidden)  # the MLP is done when the gradients of scores arrive
    return [term, *tuner_matrices(plan, 1), *attention_beside(plan, one, 1, freed)]


def _in_last_layer(plan: Plan, one: Pass, moving: float) -> list[Term]:
    """What the last layer holds at its turn between the passes, when all layers stand and none is recomputed."""
    how, size = f"{one.how} × {moving:,.0f} B{over_ranks(plan)}", local_tokens(plan, one).times(moving)
    return [make_term("activations", "the last layer at work", "work", size, how, LAYER, one.moved_by)]


def _one_expert(plan: Plan, w: Widths) -> Widths:
    """The widths whose gradients are on their way at once: of one expert's share of the tokens, or of the MLP beside the experts.

    (transformers 4.51 models/mixtral/modeling_mixtral.py: MixtralSparseMoeBlock.forward)
    """
    moe = plan.model.moe
    if not moe or moe.stacked or plan.does.get("experts") != "looped":
        return w
    share = moe.active / moe.experts
    return w._replace(mlp=max(w.mlp - moe.active * moe.width, moe.width * share), routed=w.hidden * share)


def no_grad(plan: Plan, one: Pass) -> list[Term]:
    """The live tensors of a pass that keeps nothing."""
    w = live_widths(plan, rank_widths(plan), local_tokens(plan, one).mid)
    each = no_grad_bytes_per_token(w) * (NO_GRAD if in_fp32(plan) else 1) + dispatched_bytes_per_token(plan)
    how = f"{one.how} × {each:,.0f} B of one layer{over_ranks(plan)}"
    size = local_tokens(plan, one).times(each)
    term = make_term("activations", "one layer's tensors", "work", size, how, LAYER, one.moved_by)
    return [term, *attention_beside(plan, one, 1)]


def before_head(plan: Plan, one: Pass) -> list[Term]:
    """What a pass that keeps nothing holds at its head: the last layer's output, and the same after the norm."""
    each = 2 * stream_bytes(plan) * rank_widths(plan).hidden
    how = f"{one.how} × {each:,.0f} B{over_ranks(plan)}"
    size = local_tokens(plan, one).times(each)
    return [make_term("last_norm", "last layer's output", "work", size, how, LAYER, one.moved_by)]


def _by_products(plan: Plan) -> bool:
    return plan.does.get("selective_keeps") == "chosen_products"


def _selected(plan: Plan, w: Widths) -> float:
    if of_megatron(plan):
        return _layer(plan, w) - _remade(plan, w)
    return chosen_products_bytes_per_token(w) if _by_products(plan) else fused_layer_bytes_per_token(w)


def _remade(plan: Plan, w: Widths) -> float:
    """Bytes of a layer that are dropped and made again where single modules of it are recomputed: an MLP or experts as a whole from their
    input, experts' activations, the norm before experts, what low ranks are projected up to. Attention's kernel leaves nothing to drop.

    (NVIDIA/Megatron-LM@d98e8a6 core/transformer/transformer_layer.py: recompute_mlp, recompute_pre_mlp_layernorm; moe/moe_layer.py:
    moe_layer_recompute; moe/experts.py: activation_recompute; multi_latent_attention.py: recompute_up_proj)
    """
    again = re.findall(r"\w+", str(plan.values.get("recompute_modules", ""))) if of_megatron(plan) else []
    size = 2 * w.hidden if "layernorm" in again and w.routed and not plan.adapters else 0.0
    if "mla_up_proj" in again and w.ranks:
        size += 2 * (w.q + w.keys + (w.values or w.keys))
    if w.mlp and ("moe" if w.routed else "mlp") in again:
        normed = 0.0 if w.routed or plan.adapters else 2 * w.hidden
        return size + normed + _layer(plan, w) - _layer(plan, w._replace(mlp=0, routed=0, shared=0))
    moe = plan.model.moe
    if moe and w.routed and "moe_act" in again:
        size += 2 * w.mlp * moe.active * moe.width / (moe.active * moe.width + moe.shared)
    return size


def _kinds(plan: Plan, w: Widths) -> tuple[tuple[int, Widths], ...]:
    return kinds(plan.model, w, 1 if sequence_split(plan) else plan.whole("tp"))


def _mean(plan: Plan, w: Widths, selective: bool = False, at_most: bool = False) -> float:
    """What a layer keeps of a token, as a mean over all kinds of layers."""
    each = (
        number * (_selected(plan, kind) if selective else _layer(plan, kind, at_most))
        for number, kind in _kinds(plan, w)
    )
    frozen = 0.0 if selective else 1 - with_gradients(plan.model, plan.shape, plan.values)
    # of a layer without trained weights what its norms, the attention and the gate keep
    less = frozen and sum(number * frozen_layer_bytes_per_token(kind, 0.0) for number, kind in _kinds(plan, w))
    return ((1 - frozen) * sum(each) + frozen * less) / plan.model.layers


def _layer(plan: Plan, w: Widths, at_most: bool = False) -> float:
    """What a layer keeps of a token, less what kernels of its own spare."""
    w = kept_widths(plan, w)
    return _written_out(plan, w, at_most) - _spared(plan, w)


def _spared(plan: Plan, w: Widths) -> float:
    """Of dense layers with RMSNorm and a gate, which such kernels are written for; none where the layers are fused anyway."""
    kernels = plan.values.get("fused_layers")
    unlike = w.layer_norm or not w.gated or plan.model.moe or w.mixes is not None or plan.model.latent
    if not kernels or unlike or of_megatron(plan) or plan.does.get("compiled_layers") == "yes":
        return 0.0
    fp32 = fp32_between_layers(plan) if plan.adapters else False
    return spared_bytes_per_token(w, kernels == "norms_and_mlp", bool(plan.adapters), fp32, in_fp32(plan))


def _written_out(plan: Plan, w: Widths, at_most: bool) -> float:
    """``at_most``: with adapters on all layers where nothing says which have one."""
    if plan.adapters and tuners.kind(plan.model, plan.values):
        return frozen_layer_bytes_per_token(w, 0.0) + tuners.kept_bytes_per_token(w, plan.model, plan.values)
    if plan.adapters:
        unsaid = at_most and ("lora_layers" not in plan.values or "lora_layers" in plan.defaults)
        on = "all_linear" if unsaid else adapted_layers(plan.values, plan.does)
        if of_megatron(plan):
            return te_frozen_layer_bytes_per_token(w, adapter_input_bytes(plan), on)
        if in_fp32(plan):
            return fp32_frozen_layer_bytes_per_token(w, on)
        fp32, shared = fp32_between_layers(plan), inputs_shared(plan)
        return frozen_layer_bytes_per_token(w, adapter_input_bytes(plan), on, fp32, shared)
    if of_megatron(plan):
        return te_layer_bytes_per_token(w) + (MASKS * w.hidden if plan.values.get("hidden_dropout") is True else 0)
    if in_fp32(plan):
        return fp32_layer_bytes_per_token(w)
    fused = plan.does.get("compiled_layers") == "yes" and not fp32_around_products(plan)
    return fused_layer_bytes_per_token(w) if fused else layer_bytes_per_token(w, fp32_around_products(plan))
