"""Activations of the decoder and the vision tower, and what eager attention adds.

Per layer without recomputation a bf16 decoder with gated MLP, grouped queries and FlashAttention keeps
T (28 h + 8 f + 8 kv d + 4 a) bytes: norms in fp32, inputs and outputs of the projections, the MLP's products. Korthikanti et al.
2022 (arXiv:2205.05198, section 4.1) count 34 s b h for GPT with a 4 h MLP and fused norms. T tokens, h hidden, f MLP width, kv key
heads, d their width, a heads.
"""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, count, counts, make_term
from diagnose.estimate.tokens import Pass, image_patches
from diagnose.knowledge.hardware import Model
from diagnose.types import Term

_KORTHIKANTI = "after Korthikanti et al., arXiv:2205.05198, section 4.1"
_CHECKPOINT = "Chen et al., arXiv:1604.06174; Korthikanti et al., arXiv:2205.05198, section 5"
_MOVED = ("gradient_checkpointing", "tp")


@dataclass(frozen=True, slots=True)
class Widths:
    """What a layer's activations are counted in. ``mlp`` is the width that one token passes through, all its experts together."""

    hidden: int
    mlp: int
    keys: int
    heads: int
    gated: bool


def widths(model: Model) -> Widths:
    """The widths of a decoder layer; of a sparse model those of the experts that a token takes."""
    mlp = model.moe.active * model.moe.width + model.moe.shared if model.moe else model.intermediate
    head = model.head_dim or model.hidden // model.heads
    return Widths(model.hidden, mlp, model.kv_heads * head, model.heads, model.gated)


def layer_bytes_per_token(w: Widths) -> float:
    """Bytes that one layer keeps of one token for its backward pass, nothing recomputed."""
    return 28 * w.hidden + (8 if w.gated else 4) * w.mlp + 8 * w.keys + 4 * w.heads


def frozen_layer_bytes_per_token(w: Widths) -> float:
    """The same under adapters, whose frozen layers keep no inputs for weight gradients.

    Left are the norms' fp32 copies (8 h), query and output of the attention (4 h), keys and values, the MLP's gate, its activation
    and its product (6 f); and for each of the three adapters on query, key and value a dropped-out input with its mask (9 h).
    """
    return 21 * w.hidden + (6 if w.gated else 2) * w.mlp + 4 * w.keys + 4 * w.heads


def fused_layer_bytes_per_token(w: Widths) -> float:
    """The same where norm and MLP product are fused and keep bf16 inputs only (Megatron with selective recomputation)."""
    return 16 * w.hidden + (6 if w.gated else 4) * w.mlp + 4 * w.keys


def checkpoint_bytes_per_token(*, hidden: int, layers: float) -> float:
    """The bf16 input of every layer."""
    return 2.0 * hidden * layers


def no_grad_bytes_per_token(w: Widths) -> float:
    """What lives at once in one layer when nothing is kept."""
    return 6 * w.hidden + 6 * w.mlp


def eager_score_bytes(*, rows: float, heads: float, length: float, bytes_each: float) -> float:
    """Scores of one layer written out: b a s² values (Korthikanti et al. 2022, equation 1: 5 bytes each with dropout)."""
    return rows * heads * length**2 * bytes_each


def checkpointing(plan: Plan) -> str:
    """``full``, ``selective`` or ``none``, from the fact as true, false or a word; unknown counts as ``full`` with a wide band."""
    stated = str(plan.values.get("gradient_checkpointing", "full")).lower()
    return {"true": "full", "full": "full", "selective": "selective"}.get(stated, "none")


def kept(plan: Plan, one: Pass, stages: int = 1) -> list[Term]:
    """What the whole forward pass leaves for the backward pass.

    The first of ``pp`` pipeline stages holds a part of the layers for as many micro batches in flight: all layers of one. With
    ``stages`` it is one stage's layers for one micro batch, as the last stage holds them.
    """
    w, layers, tokens = widths(plan.model), max(1, plan.model.layers // stages), _local(plan, one)
    mode = checkpointing(plan)
    if mode == "full":
        on_gpu = 2 if plan.values.get("activation_offload") is True else layers
        size = tokens.times(checkpoint_bytes_per_token(hidden=w.hidden, layers=on_gpu))
        how = f"{one.how} × {w.hidden:,} × {on_gpu} layers × 2 B{_over(plan)}"
        if "gradient_checkpointing" not in plan.values:
            size = Band(size.low, size.mid, tokens.high * layers * _layer(plan, w))
            how += "; far more if every layer keeps all"
        moved_by = (*one.moved_by, *_MOVED, "activation_offload")
        return [make_term("checkpoints", "checkpoints", "work", size, how, _CHECKPOINT, moved_by)]
    each = fused_layer_bytes_per_token(w) if mode == "selective" else _layer(plan, w)
    how = f"{one.how} × {each:,.0f} B × {layers} layers{_over(plan)}"
    size = tokens.times(each * layers)
    terms = [make_term("activations", "activations", "work", size, how, _KORTHIKANTI, (*one.moved_by, *_MOVED))]
    return terms + eager_attention(plan, one, layers if mode == "none" else 1)


def recomputed(plan: Plan, one: Pass) -> list[Term]:
    """One layer put together again in the backward pass, with its gradients on their way."""
    if checkpointing(plan) != "full":
        return []
    w, tokens = widths(plan.model), _local(plan, one)
    each = _layer(plan, w) + 4 * max(w.hidden, w.mlp)
    how = f"{one.how} × {each:,.0f} B of one layer{_over(plan)}"
    term = make_term("activations", "one layer recomputed", "work", tokens.times(each), how, _KORTHIKANTI, one.moved_by)
    return [term, *eager_attention(plan, one, 1)]


def no_grad(plan: Plan, one: Pass) -> list[Term]:
    """The live tensors of a pass that keeps nothing."""
    each = no_grad_bytes_per_token(widths(plan.model))
    how = f"{one.how} × {each:,.0f} B of one layer{_over(plan)}"
    size = _local(plan, one).times(each)
    term = make_term("activations", "one layer's tensors", "work", size, how, _KORTHIKANTI, one.moved_by)
    return [term, *eager_attention(plan, one, 1)]


def eager_attention(plan: Plan, one: Pass, layers: int) -> list[Term]:
    """Attention scores where they are written out: b a s² values a layer, 2 to 6 bytes each (Korthikanti et al., eq. 1)."""
    if plan.values.get("flash_attention") is not False:
        return []
    heads = plan.model.heads / plan.whole("tp")
    size = Band(
        layers * eager_score_bytes(rows=one.rows, heads=heads, length=one.row.low, bytes_each=2),
        layers * eager_score_bytes(rows=one.rows, heads=heads, length=one.row.mid, bytes_each=4),
        layers * eager_score_bytes(rows=one.rows, heads=heads, length=one.row.high, bytes_each=6),
    )
    how = f"{count(one.rows)} rows × {heads:g} heads × {counts(one.row)}² × {layers} layers × 4 B"
    source = "Korthikanti et al., arXiv:2205.05198, equation 1"
    moved_by = (*one.moved_by, "flash_attention")
    return [make_term("attention_scores", "attention scores", "work", size, how, source, moved_by)]


def vision_tower(plan: Plan, one: Pass, trains: bool) -> list[Term]:
    """What the vision tower keeps of the images of one pass; one layer's tensors where nothing of it ``trains``."""
    patches, tower = image_patches(plan, one.rows), plan.model.vision
    if not patches.mid or not tower:
        return []
    frozen = not trains or plan.values.get("freeze_vision") is True or bool(plan.adapters)
    w = Widths(tower.hidden, tower.intermediate or 4 * tower.hidden, tower.hidden, max(1, tower.hidden // 80), False)
    if frozen:
        each = no_grad_bytes_per_token(w)
    elif checkpointing(plan) == "full":
        each = checkpoint_bytes_per_token(hidden=w.hidden, layers=tower.layers) + layer_bytes_per_token(w)
    else:
        each = layer_bytes_per_token(w) * tower.layers
    how = f"{count(one.rows)} rows × {counts(patches)} patches × {each:,.0f} B"
    moved_by = (*one.moved_by, "max_pixels", "images_per_prompt", "freeze_vision")
    size = patches.times(one.rows * each)
    return [make_term("vision_tower", "vision tower's activations", "work", size, how, _KORTHIKANTI, moved_by)]


def _layer(plan: Plan, w: Widths) -> float:
    return frozen_layer_bytes_per_token(w) if plan.adapters else layer_bytes_per_token(w)


def _local(plan: Plan, one: Pass) -> Band:
    """Tokens after tensor parallelism, which with sequence parallelism divides every activation (Korthikanti et al., section 4.2)."""
    return one.tokens.times(1 / plan.whole("tp"))


def _over(plan: Plan) -> str:
    tp = plan.whole("tp")
    return f" ÷ {tp}" if tp > 1 else ""
