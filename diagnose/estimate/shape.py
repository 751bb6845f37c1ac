"""Parameter counts of a decoder model from the shape numbers of its config.json.

Counts are of parameters, not of bytes. Biases are counted where config.json puts them in the families that the catalogue holds: on
query, key and value, in a few also on the output projection and the MLP. A vision tower is counted as its record states it.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, replace

from diagnose.knowledge.hardware import Latent, Mixer, Model, Moe

ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Shape:
    """Counts of one model. ``parameters`` holds the vision tower; ``active`` is what one token of text passes through.

    ``layer`` is one decoder layer (the largest where a model has several kinds), ``embedding`` the table V x h, ``root`` what
    FSDP leaves in its outermost unit: the table, the head where it is not tied, and the final norm.
    """

    parameters: int
    embedding: int
    layer: int
    root: int
    active: int
    head_dim: int
    vision: int


def shape(model: Model) -> Shape:
    """All counts of ``model`` at once."""
    return Shape(
        parameters=parameters(model),
        embedding=embedding(model),
        layer=layer(model),
        root=root(model),
        active=active(model),
        head_dim=head_dim(model),
        vision=vision(model),
    )


def head_dim(model: Model) -> int:
    """Width of one attention head: as stated, else hidden / heads."""
    return model.head_dim or model.hidden // model.heads


def embedding(model: Model) -> int:
    """The embedding table, V x h; the head has as many where it is not tied."""
    return model.vocab * model.hidden


def root(model: Model) -> int:
    """Embedding, head where it is not tied, and final norm."""
    norm = model.hidden * (2 if model.layer_norm else 1)
    return embedding(model) * (1 if model.tied else 2) + norm + (model.vocab if model.head_bias else 0)


def layer(model: Model) -> int:
    """One decoder layer, the largest where they differ; of a sparse model one with all its experts."""
    mlp = _sparse_mlp(model, model.moe) if model.moe else _mlp(model, model.intermediate)
    mixing = max(_attention(model), _mixer(model, model.mixer))
    return _norms(model) + (max(mixing, mlp) if model.mlp_layers else mixing + mlp)


def vision(model: Model) -> int:
    """The vision tower with its projector, 0 for a text model."""
    return model.vision.params if model.vision else 0


def parameters(model: Model) -> int:
    """Everything that a checkpoint holds, vision tower included."""
    sparse = model.sparse * _sparse_mlp(model, model.moe) if model.moe else 0
    mlps = sparse + (model.mlps - model.sparse) * _mlp(model, model.intermediate)
    mixers = model.mixer.layers * _mixer(model, model.mixer) if model.mixer else 0
    mixing = model.attends * _attention(model) + mixers
    return root(model) + mixing + model.layers * _norms(model) + mlps + vision(model)


def active(model: Model) -> int:
    """What one token passes through: the chosen experts only; the vision tower is not counted."""
    text = parameters(model) - vision(model)
    if not model.moe:
        return text
    idle = (model.moe.experts - model.moe.active) * _mlp(model, model.moe.width)
    return text - model.sparse * idle


def lora_parameters(model: Model, rank: int, on: str = "all_linear", fused: bool = False) -> int:
    """LoRA on all linear layers of the decoder, rank x (in + out) each (Hu et al. 2021, arXiv:2106.09685, section 4.1).

    Every expert has its own pair; router, head and vision tower are left out, as "all-linear" does by default. ``on``
    "query_value" alone, as in that paper (section 4.2), "query_key_value", or all of "attention". ``fused``: query, key and value are
    one product, and so are gate and up, so that each has one pair (modelscope/mcore-bridge tuners/lora.py: LoraParallelLinear).
    """
    h = model.hidden
    queries, keys = model.heads * head_dim(model), model.kv_heads * head_dim(model)
    if on != "all_linear":
        matrices = 1 if on == "query_value" else 2
        queries_and_output = (2 if on == "attention" else 1) * (h + queries)
        return rank * model.attends * (queries_and_output + matrices * (h + keys))
    asked = (2 if model.attention_gate else 1) * queries
    attention = model.attends * ((1 if fused else 3) * h + asked + 2 * keys + queries + h)
    mixers = model.mixer.layers * _mixer_pairs(h, model.mixer) if model.mixer else 0
    mlps = (model.mlps - model.sparse) * _mlp_pairs(model, model.intermediate, fused)
    if model.moe:
        mlps += model.sparse * _mlp_pairs(model, model.moe.shared, fused) if model.moe.shared else 0
    return rank * (attention + mixers + mlps) + expert_adapter_parameters(model, rank, fused)


def expert_adapter_parameters(model: Model, rank: int, fused: bool = False) -> int:
    """Those of ``lora_parameters`` that belong to the experts, and stand where they do; none on experts that are one tensor."""
    if not model.moe or (model.moe.stacked and not fused):
        return 0
    return rank * model.sparse * model.moe.experts * _mlp_pairs(model, model.moe.width, fused)


def _mlp_pairs(model: Model, width: int, fused: bool) -> int:
    """In + out of all matrices of an MLP; gate and up read their input once where they are one product."""
    if not model.gated:
        return 2 * (model.hidden + width)
    return (2 if fused else 3) * model.hidden + 3 * width


def _mixer_pairs(hidden: int, mixer: Mixer) -> int:
    """In + out of a mixer's matrices: into it, and of the delta rule once more for its two numbers a head, and out of it."""
    beside = hidden + 2 * mixer.heads if mixer.kind == "delta" else mixer.heads
    return hidden + mixer.convolved + mixer.values + beside + mixer.values + hidden


def _norms(model: Model) -> int:
    return model.norms * model.hidden * (2 if model.layer_norm else 1)


def _attention(model: Model) -> int:
    if model.latent:
        return _latent_attention(model, model.latent)
    h, d = model.hidden, head_dim(model)
    queries, keys = model.heads * d, model.kv_heads * d
    biases = (queries + 2 * keys if model.attention_bias else 0) + (h if model.biases else 0)
    norms = (2 * d if model.qk_norm else 0) + (model.heads if model.sinks else 0)
    return (3 if model.attention_gate else 2) * h * queries + 2 * h * keys + biases + norms


def _latent_attention(model: Model, latent: Latent) -> int:
    """DeepSeek-V2, arXiv:2405.04434, section 2.1: down, a norm, and up again; keys share one rotary part."""
    h, heads = model.hidden, model.heads
    query = heads * (latent.plain + latent.rotary)
    queries = h * latent.query + latent.query + latent.query * query if latent.query else h * query
    keys = h * (latent.key + latent.rotary) + latent.key + latent.key * heads * (latent.plain + latent.value)
    return queries + keys + heads * latent.value * h


def _mixer(model: Model, mixer: Mixer | None) -> int:
    """A gate as wide as its values beside what is convolved, in and out; per head two numbers (delta) or one, and its constants.

    (transformers 5.23 models/qwen3_next: Qwen3NextGatedDeltaNet; models/nemotron_h: NemotronHMamba2Mixer, whose convolution has biases)
    """
    if not mixer:
        return 0
    delta = mixer.kind == "delta"
    inward = model.hidden * (mixer.convolved + mixer.values + mixer.heads * (2 if delta else 1))
    convolution = mixer.convolved * (mixer.kernel + (0 if delta else 1))
    constants = 2 * mixer.heads + mixer.width if delta else 3 * mixer.heads + mixer.values
    return inward + convolution + constants + mixer.values * model.hidden


def _mlp(model: Model, width: int) -> int:
    biases = (2 if model.gated else 1) * width + model.hidden if model.biases and width else 0
    return (3 if model.gated else 2) * model.hidden * width + biases


def _sparse_mlp(model: Model, moe: Moe) -> int:
    router = moe.experts * model.hidden + (moe.experts if moe.router_bias else 0)
    gate = model.hidden if moe.shared_gate else 0
    return router + gate + moe.experts * _mlp(model, moe.width) + (_mlp(model, moe.shared) if moe.shared else 0)


# --- when only the size is known


@dataclass(frozen=True, slots=True)
class _Size:
    params_b: float
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    vocab: int
    tied: bool
    published: int


# Qwen2.5, the family that these runs train most: table 1 of arXiv:2412.15115 and config.json. The sizes between are interpolated.
_SIZES = (
    _Size(0.5, 896, 24, 14, 2, 4864, 151936, True, 494_032_768),
    _Size(1.5, 1536, 28, 12, 2, 8960, 151936, True, 1_543_714_304),
    _Size(3, 2048, 36, 16, 2, 11008, 151936, True, 3_085_938_688),
    _Size(7, 3584, 28, 28, 4, 18944, 152064, False, 7_615_616_512),
    _Size(14, 5120, 48, 40, 8, 13824, 152064, False, 14_770_033_664),
    _Size(32, 5120, 64, 40, 8, 27648, 152064, False, 32_763_876_352),
    _Size(72, 8192, 80, 64, 8, 29568, 152064, False, 72_706_203_648),
)
_SMALLEST, _LARGEST = 0.1, 150.0  # outside, a dense stand-in would say nothing


def shape_from_params(params_b: float) -> Model | None:
    """A dense stand-in for a model of which only the size is known, marked by ``family == "assumed"``; None beyond 0.1–150 billion.

    Hidden size and depth lie between those of the two published sizes around it, on a logarithmic scale; the MLP width is what
    then gives the count.
    """
    if not _SMALLEST <= params_b <= _LARGEST:
        return None
    known = next((size for size in _SIZES if size.params_b == params_b), None)
    if known:
        return _stand_in(known)
    low, high = _neighbours(params_b)
    share = math.log(params_b / low.params_b) / math.log(high.params_b / low.params_b)
    near = low if share < 0.5 else high
    hidden = max(256, round(_between(low.hidden, high.hidden, share) / 128) * 128)
    between = replace(
        near,
        params_b=params_b,
        hidden=hidden,
        layers=max(4, round(_between(low.layers, high.layers, share))),
        heads=hidden // 128,
        kv_heads=min(near.kv_heads, hidden // 128),
        published=round(_between(low.published, high.published, share)),
    )
    return _stand_in(_with_mlp_width(between))


_EXPERTS = 128  # Qwen3, arXiv:2505.09388, table 2
_LARGEST_SPARSE = 1200.0


def sparse_from_params(params_b: float, active_b: float) -> Model | None:
    """A sparse stand-in for a model whose name states its size and what a token passes through, as in 30B-A3B; None for others.

    The decoder is as wide and deep as the dense model of the active size. The width of its 128 experts is what gives the count, and
    a token takes as many of them as its own size leaves room for.
    """
    dense = shape_from_params(active_b) if _SMALLEST <= active_b < params_b <= _LARGEST_SPARSE else None
    if dense is None:
        return None
    untied = replace(
        dense, tied=False, params_b=params_b, title=f"a sparse model of {params_b:g}B, {active_b:g}B active"
    )
    without = parameters(replace(untied, intermediate=0))
    each = (params_b * 1e9 - without) / (untied.layers * (_EXPERTS * 3 * untied.hidden))
    width = max(64, round(each / 64) * 64)
    chosen = max(1, round((active_b * 1e9 - without) / (untied.layers * 3 * untied.hidden * width)))
    return replace(untied, moe=Moe(experts=_EXPERTS, active=chosen, width=width), published=round(params_b * 1e9))


def _neighbours(params_b: float) -> tuple[_Size, _Size]:
    """The two published sizes around ``params_b``, or the outermost two."""
    above = next((i for i, size in enumerate(_SIZES) if size.params_b > params_b), len(_SIZES) - 1)
    return _SIZES[max(above, 1) - 1], _SIZES[max(above, 1)]


def _between(low: float, high: float, share: float) -> float:
    return math.exp(math.log(low) + share * math.log(high / low))


def _with_mlp_width(size: _Size) -> _Size:
    bare = parameters(_stand_in(replace(size, intermediate=0)))
    width = (size.published - bare) / (3 * size.hidden * size.layers)
    return replace(size, intermediate=max(size.hidden, round(width / 64) * 64))


def _stand_in(size: _Size) -> Model:
    return Model(
        slug=ASSUMED,
        title=f"a dense model of {size.params_b:g}B",
        body="",
        reviewed=datetime.date(2026, 11, 20),
        sources=("https://arxiv.org/abs/2412.15115",),
        hidden=size.hidden,
        layers=size.layers,
        heads=size.heads,
        kv_heads=size.kv_heads,
        intermediate=size.intermediate,
        vocab=size.vocab,
        tied=size.tied,
        published=size.published,
        params_b=size.params_b,
        max_position=32768,
        attention_bias=True,
        family=ASSUMED,
    )
