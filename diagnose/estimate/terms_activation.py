"""Activations of the decoder as terms: what is kept, what is put together again, what a mask or scores add."""

from __future__ import annotations

from dataclasses import replace

from diagnose.estimate.built import with_all_experts
from diagnose.estimate.frozen import adapter_input_bytes, fp32_between_layers, inputs_shared
from diagnose.estimate.layer import (
    Widths,
    backward_bytes_per_token,
    checkpoint_bytes_per_token,
    chosen_products_bytes_per_token,
    eager_score_bytes,
    frozen_layer_bytes_per_token,
    fused_layer_bytes_per_token,
    head_input_bytes_per_token,
    layer_bytes_per_token,
    no_grad_bytes_per_token,
    rotary_bytes_per_token,
    widths,
)
from diagnose.estimate.mixer import kinds
from diagnose.estimate.plan import Plan
from diagnose.estimate.spread import adapted_layers
from diagnose.estimate.term import Band, count, counts, exactly, make_term
from diagnose.estimate.tokens import Pass
from diagnose.types import Term

LAYER = "autograd over transformers 4.51 models/qwen2/modeling_qwen2.py, held against tests/data/measured_cpu.toml"
_CHECKPOINT = "Chen et al., arXiv:1604.06174; Korthikanti et al., arXiv:2205.05198, section 5"
_SDPA = (
    "transformers 4.51 integrations/sdpa_attention.py: repeat_kv; torch 2.6 attention.cpp: convert_boolean_attn_mask"
)
_HOOKS = (
    "torch 2.4 distributed/fsdp/_runtime_utils.py: _register_post_backward_reshard_only_hook; utils/checkpoint.py: CheckpointFunction;"
    " autograd/graph.py: register_multi_grad_hook"
)
_MOVED = ("gradient_checkpointing", "tp")
# low, middle, high: fp32 softmax and its bf16 copy; 2 where the kernel was meant and not scores written out
_SCORE_BYTES = (2.0, 6.0, 6.0)
_TANH_BYTES = 2.0  # of capped scores (litgpt 2685705 litgpt/model.py: do_softcapping; transformers 4.51 models/gemma2)
_SCORE_BYTES_BACKWARD = 12.0  # fp32 softmax, the gradient that comes in and the one that goes out


def autocasts(plan: Plan) -> bool:
    """Whether bf16 comes from autocast over whole fp32 weights; sharded weights are cast when they are gathered.

    FSDP2 gathers in the type of its policy on a single GPU as well (torch 2.6 distributed/fsdp/_fully_shard/_fsdp_param.py:
    init_dtype_attrs), where FSDP1 falls back to whole weights (distributed/fsdp/_init_utils.py: NO_SHARD).
    """
    part = plan.adapters or "trained_layers" in plan.values
    whole_fp32 = plan.each.weights >= 4 and not part and plan.values.get("precision") != "fp32"
    return whole_fp32 and (plan.split.stage < 3 or _alone(plan))


def _alone(plan: Plan) -> bool:
    return plan.split.group == 1 and plan.values.get("strategy") != "fsdp2"


def checkpointing(plan: Plan) -> str:
    """``full``, ``selective`` or ``none``, from the fact as true, false or a word; unknown counts as ``full`` with a wide band."""
    stated = str(plan.values.get("gradient_checkpointing", "full")).lower()
    return {"true": "full", "full": "full", "selective": "selective"}.get(stated, "none")


def kept(plan: Plan, one: Pass, stages: int = 1) -> list[Term]:
    """What the whole forward pass leaves for the backward pass.

    The first of ``pp`` pipeline stages holds a part of the layers for as many micro batches in flight: all layers of one, where the
    stages are alike. With ``stages`` it is one stage's layers for one micro batch, as the last stage holds them.
    """
    w, layers, tokens = _widths(plan), _held_layers(plan, stages), _local(plan, one)
    mode = checkpointing(plan)
    if mode == "full":
        on_gpu = 2 if plan.values.get("activation_offload") is True else layers
        each = 4 if autocasts(plan) or fp32_between_layers(plan) else 2
        stream = checkpoint_bytes_per_token(hidden=w.hidden, layers=on_gpu, bytes_each=each)
        size = tokens.times(stream + rotary_bytes_per_token(w, each))
        how = f"{one.how} × {w.hidden:,} × {on_gpu} layers × {each} B{_over(plan)}"
        if "gradient_checkpointing" not in plan.values:
            size = Band(size.low, size.mid, tokens.high * layers * _mean(plan, w))
            how += "; far more if every layer keeps all"
        moved_by = (*one.moved_by, *_MOVED, "activation_offload")
        return [make_term("checkpoints", "checkpoints", "work", size, how, _CHECKPOINT, moved_by)]
    each_layer = _mean(plan, w, selective=mode == "selective")
    how = f"{one.how} × {each_layer:,.0f} B × {layers} layers{_over(plan)}"
    size = tokens.times(each_layer * layers)
    if mode == "none":
        size = Band(size.low, size.mid, tokens.high * layers * _mean(plan, w, at_most=True))
    terms = [make_term("activations", "activations", "work", size, how, LAYER, (*one.moved_by, *_MOVED))]
    scored = layers * plan.model.attends // plan.model.layers
    return terms + attention_beside(plan, one, scored if mode == "none" else 1)


def offloaded(plan: Plan, one: Pass) -> Band:
    """Bytes of the checkpoints of a pass that go to the host: of all layers but the two that stay."""
    if plan.values.get("activation_offload") is not True or checkpointing(plan) != "full":
        return exactly(0.0)
    each = 4 if autocasts(plan) or fp32_between_layers(plan) else 2
    return _local(plan, one).times(max(0, _held_layers(plan, 1) - 2) * each * plan.model.hidden)


def _held_layers(plan: Plan, stages: int) -> int:
    """Layers times micro batches whose activations stand at once."""
    if plan.stage:
        return max(1, round(plan.stage_layers * (plan.whole("pp") if plan.stage == "first" else 1)))
    return max(1, plan.model.layers // (stages * plan.laid))


def head_inputs(plan: Plan, one: Pass) -> list[Term]:
    """What the last norm keeps, and what the head reads: there until the backward pass has gone through the head."""
    w = _widths(plan)
    each = head_input_bytes_per_token(w, autocasts(plan), bool(plan.adapters))
    how = f"{one.how} × {each:,.0f} B{_over(plan)}"
    size = _local(plan, one).times(each)
    return [make_term("last_norm", "last norm and its output", "work", size, how, LAYER, one.moved_by)]


def recomputed(plan: Plan, one: Pass) -> list[Term]:
    """One layer put together again in the backward pass, with its gradients on their way."""
    if checkpointing(plan) != "full" and not (checkpointing(plan) == "selective" and _by_products(plan)):
        return []
    w, tokens = _widths(plan), _local(plan, one)
    casts = bool(plan.adapters) and not inputs_shared(plan)
    moving = backward_bytes_per_token(_one_expert(plan, w), casts, fp32_between_layers(plan))
    each = max(_layer(plan, kind) for _, kind in _kinds(plan, w)) + moving
    how = f"{one.how} × {each:,.0f} B of one layer{_over(plan)}"
    term = make_term("activations", "one layer recomputed", "work", tokens.times(each), how, LAYER, one.moved_by)
    freed = tokens.mid * (moving + 8 * w.mlp + 8 * w.hidden)  # the MLP is done when the gradients of scores arrive
    return [term, *attention_beside(plan, one, 1, freed)]


def _one_expert(plan: Plan, w: Widths) -> Widths:
    """The widths whose gradients are on their way at once: of one expert's share of the tokens, or of the MLP beside the experts.

    (transformers 4.51 models/mixtral/modeling_mixtral.py: MixtralSparseMoeBlock.forward)
    """
    moe = plan.model.moe
    if not moe or moe.stacked or plan.does.get("experts") != "looped":
        return w
    share = moe.active / moe.experts
    return replace(w, mlp=max(w.mlp - moe.active * moe.width, moe.width * share), routed=w.hidden * share)


def kept_by_hooks(plan: Plan, one: Pass) -> list[Term]:
    """Gradients of the layers' inputs that hooks hold until the backward pass is over, and with them the checkpoints that are done.

    FSDP1 frees a unit without trained weights when the gradients of its inputs are there. Recomputed in a backward pass of its own, a layer
    has a detached input, whose accumulator the hook keeps alive with the input and its gradient. The first and the last layer are counted
    where all layers are. Low: none, where nothing says how layers are recomputed.
    """
    frozen = plan.values.get("strategy") == "fsdp" and bool(plan.adapters) and plan.split.group > 1
    reentrant = plan.values.get("reentrant_checkpointing")
    if not frozen or reentrant is False or checkpointing(plan) != "full":
        return []
    layers, each = max(0, _held_layers(plan, 1) - 2), 4 if autocasts(plan) or fp32_between_layers(plan) else 2
    size = _local(plan, one).times(layers * each * plan.model.hidden)
    if reentrant is None:
        size = Band(0.0, 0.0, size.high)
    how = f"{one.how} × {plan.model.hidden:,} × {layers} layers × {each} B"
    moved_by = (*one.moved_by, "gradient_checkpointing", "reentrant_checkpointing")
    return [make_term("input_gradients", "gradients of layer inputs", "work", size, how, _HOOKS, moved_by)]


def no_grad(plan: Plan, one: Pass) -> list[Term]:
    """The live tensors of a pass that keeps nothing."""
    each = no_grad_bytes_per_token(_widths(plan))
    how = f"{one.how} × {each:,.0f} B of one layer{_over(plan)}"
    size = _local(plan, one).times(each)
    term = make_term("activations", "one layer's tensors", "work", size, how, LAYER, one.moved_by)
    return [term, *attention_beside(plan, one, 1)]


def attention_beside(plan: Plan, one: Pass, layers: int, freed: float = 0.0) -> list[Term]:
    """What attention needs beside query, key, value and output: scores written out, or a padding mask; nothing with FlashAttention.

    ``freed`` bytes of the layer are gone when the scores' gradients need twice what the scores do.
    """
    kernel = plan.values.get("flash_attention")
    if kernel is False or (kernel is None and plan.model.capped):
        return [_scores(plan, one, layers, freed)]
    unmasked = plan.does.get("padding_mask") == "no" or plan.values.get("remove_padding") is True
    return [] if kernel or unmasked or one.packed or one.rows <= 1 else [_mask(plan, one, layers)]


def _scores(plan: Plan, one: Pass, layers: int, freed: float) -> Term:
    """b a s² scores a layer (Korthikanti et al., eq. 1)."""
    heads, pairs = plan.model.heads / plan.whole("tp"), _pairs(plan, one)
    tanh = _TANH_BYTES if plan.model.capped else 0.0
    low, mid, high = (
        eager_score_bytes(rows=heads * number, heads=1, length=1, bytes_each=(each + tanh) * layers)
        for number, each in zip(pairs, _SCORE_BYTES, strict=True)
    )
    if freed:
        last = heads * _SCORE_BYTES_BACKWARD
        mid, high = max(mid, last * pairs[1] - freed), max(high, last * pairs[2])
    how = f"{count(one.rows)} rows × {heads:g} heads × {counts(one.row)}² × {layers} layers × {_SCORE_BYTES[1] + tanh:g} B"
    source = "Korthikanti et al., arXiv:2205.05198, equation 1"
    moved_by = (*one.moved_by, *_ATTENTION)
    return make_term("attention_scores", "attention scores", "work", Band(low, mid, high), how, source, moved_by)


def _mask(plan: Plan, one: Pass, layers: int) -> Term:
    """A padding mask as a byte a pair of tokens and, in bf16, once a layer; and keys and values repeated to the heads of queries."""
    w, pairs, tokens = widths(plan.model), _pairs(plan, one), _local(plan, one)
    repeated, each = 4 * (w.q - w.keys) / plan.whole("tp") * layers, 1 + 2 * layers
    size = Band(0.0, pairs[1] * each + tokens.mid * repeated, pairs[2] * each + tokens.high * repeated)
    how = f"{count(one.rows)} rows × {counts(one.row)}² × (1 + 2 × {layers}) B, and keys repeated to {w.heads} heads"
    return make_term("attention_mask", "padding mask", "work", size, how, _SDPA, (*one.moved_by, *_ATTENTION))


def _pairs(plan: Plan, one: Pass) -> tuple[float, float, float]:
    """Pairs of tokens in all rows of a pass: of rows that are not padded to one length the longest decides."""
    row, uneven = one.row, plan.values.get("remove_padding") is True and not plan.online and not one.packed
    low, mid, high = (one.rows * length**2 for length in (row.low, row.high if uneven else row.mid, row.high))
    return low, mid, high


_ATTENTION = ("flash_attention", "remove_padding")


def _by_products(plan: Plan) -> bool:
    return plan.does.get("selective_keeps") == "chosen_products"


def _selected(plan: Plan, w: Widths) -> float:
    return chosen_products_bytes_per_token(w) if _by_products(plan) else fused_layer_bytes_per_token(w)


def _kinds(plan: Plan, w: Widths) -> tuple[tuple[int, Widths], ...]:
    return kinds(plan.model, w, 1 if _sequence_split(plan) else plan.whole("tp"))


def _mean(plan: Plan, w: Widths, selective: bool = False, at_most: bool = False) -> float:
    """What a layer keeps of a token, as a mean over all kinds of layers."""
    each = (
        number * (_selected(plan, kind) if selective else _layer(plan, kind, at_most))
        for number, kind in _kinds(plan, w)
    )
    return sum(each) / plan.model.layers


def _layer(plan: Plan, w: Widths, at_most: bool = False) -> float:
    """``at_most``: with adapters on all layers where nothing says which have one."""
    if plan.adapters:
        unsaid = at_most and "lora_layers" not in plan.values
        on = "all_linear" if unsaid else adapted_layers(plan.values, plan.does)
        fp32, shared = fp32_between_layers(plan), inputs_shared(plan)
        return frozen_layer_bytes_per_token(w, adapter_input_bytes(plan), on, fp32, shared)
    return layer_bytes_per_token(w, autocasts(plan))


def _sequence_split(plan: Plan) -> bool:
    """Whether tensor-parallel ranks divide the tokens between their matrices as well; taken so where nothing says otherwise."""
    return plan.values.get("sequence_parallel") is not False


def _local(plan: Plan, one: Pass) -> Band:
    """Tokens of one rank: tensor parallelism divides every activation where it splits the sequence too, else only those inside
    attention and MLP, which ``_widths`` narrows (Korthikanti et al., section 4.2 against 4.1)."""
    return one.tokens.times(1 / plan.whole("tp")) if _sequence_split(plan) else one.tokens


def _widths(plan: Plan) -> Widths:
    """The widths of a layer on one rank, for as many tokens as ``_local`` gives it."""
    known: Widths | None = plan.known.get("widths")
    if known is None:
        model = plan.model if plan.values.get("strategy") == "megatron" else with_all_experts(plan.model)
        w, tp = widths(model, plan.does.get("fused_query") == "yes"), plan.whole("tp")
        split = tp > 1 and not _sequence_split(plan)
        known = replace(w, mlp=w.mlp / tp, keys=w.keys / tp, heads=w.heads / tp, queries=w.q / tp) if split else w
        plan.known["widths"] = known
    return known


def _over(plan: Plan) -> str:
    tp = plan.whole("tp") if _sequence_split(plan) else 1
    return f" ÷ {tp}" if tp > 1 else ""
