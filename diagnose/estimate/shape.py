"""Parameter counts of a decoder model from the shape numbers of its config.json.

Counts are of parameters, not of bytes. Biases are counted where config.json puts them in the families that the catalogue holds: on
query, key and value, in a few also on the output projection and the MLP. A vision tower is counted as its record states it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from diagnose.estimate.layer import ADAPT_THE_MLP
from diagnose.knowledge.hardware import Latent, Mixer, Model, Moe, Wide


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
    """The embedding table, V x h, or as wide as words are embedded; the head has as many where it is not tied."""
    return model.vocab * (model.word_width or model.hidden)


def root(model: Model) -> int:
    """Embedding, head where it is not tied, and final norm; tables of positions and of all layers' own embeddings where there are any."""
    norm = model.hidden * (2 if model.layer_norm else 1)
    if model.word_width:  # two projections, and the last layer's own norm is the final one
        norm = 2 * model.word_width * model.hidden
    table = embedding(model) * (1 if model.tied else 2) + model.positions * model.hidden
    return table + norm + (model.vocab if model.head_bias else 0) + _layers_table(model)


def layer(model: Model) -> int:
    """One decoder layer, the largest where they differ; of a sparse model one with all its experts."""
    width = model.intermediate * (2 if model.doubled else 1)
    mlp = _sparse_mlp(model, model.moe) if model.moe else _mlp(model, width)
    attention = max(_attention(model, one) for one in heads(model))
    mixing = max(attention, _mixer(model, model.mixer))
    return _norms(model) + (max(mixing, mlp) if model.mlp_layers else mixing + mlp)


def vision(model: Model) -> int:
    """The vision tower with its projector, 0 for a text model."""
    return model.vision.params if model.vision else 0


def parameters(model: Model) -> int:
    """Everything that a checkpoint holds, vision tower included."""
    sparse = model.sparse * _sparse_mlp(model, model.moe) if model.moe else 0
    mlps = sparse + (model.mlps - model.sparse + model.doubled) * _mlp(model, model.intermediate)
    mixers = model.mixer.layers * _mixer(model, model.mixer) if model.mixer else 0
    mixing = _attentions(model) + mixers
    return root(model) + mixing + model.layers * _norms(model) + mlps + vision(model)


def active(model: Model) -> int:
    """What one token passes through: the chosen experts only; the vision tower is not counted."""
    text = parameters(model) - vision(model)
    if not model.moe:
        return text
    idle = (model.moe.experts - model.moe.active) * _expert(model, model.moe)
    return text - model.sparse * idle


def lora_parameters(model: Model, rank: int, on: str = "all_linear", fused: bool = False) -> int:
    """LoRA on all linear layers of the decoder, rank x (in + out) each (Hu et al. 2021, arXiv:2106.09685, section 4.1).

    Every expert has its own pair; router, head and vision tower are left out, as "all-linear" does by default. ``on``
    "query_value" alone, as in that paper (section 4.2), "query_key_value", all of "attention", or the "mlp" alone. ``fused``: query, key
    and value are one product, and so are gate and up, so that each has one pair (modelscope/mcore-bridge tuners/lora.py:
    LoraParallelLinear).
    """
    h = model.hidden
    if on not in ADAPT_THE_MLP:
        matrices = 1 if on == "query_value" else 2
        sides = 2 if on == "attention" else 1
        return rank * sum(
            one.layers * sides * (h + model.heads * one.head_dim)
            + one.keyed * matrices * (h + one.kv_heads * one.head_dim)
            for one in heads(model)
        )
    attention = sum(_attention_pairs(model, one, fused) for one in heads(model))
    mixers = model.mixer.layers * _mixer_pairs(h, model.mixer) if model.mixer else 0
    beside = attention + mixers if on == "all_linear" else 0
    mlps = (model.mlps - model.sparse - model.doubled) * _mlp_pairs(model, model.intermediate, fused)
    mlps += model.doubled * _mlp_pairs(model, 2 * model.intermediate, fused)
    if model.moe:
        mlps += model.sparse * _mlp_pairs(model, model.moe.shared, fused) if model.moe.shared else 0
        mlps += model.sparse * 2 * (h + model.moe.latent) if model.moe.latent else 0
    return rank * (beside + mlps) + expert_adapter_parameters(model, rank, fused)


def expert_adapter_parameters(model: Model, rank: int, fused: bool = False) -> int:
    """Those of ``lora_parameters`` that belong to the experts, and stand where they do; none on experts that are one tensor."""
    if not model.moe or (model.moe.stacked and not fused):
        return 0
    pairs = _mlp_pairs(model, model.moe.width, fused, model.routed)
    return rank * model.sparse * model.moe.experts * pairs


def _attention_pairs(model: Model, one: Wide, fused: bool) -> int:
    """In + out of the matrices of all layers with these heads."""
    queries, keys = model.heads * one.head_dim, one.kv_heads * one.head_dim
    asked = (2 if model.attention_gate else 1) * queries
    kept = (1 if one.one_product else 2) * ((0 if fused else model.hidden) + keys)
    return one.layers * (2 * model.hidden + asked + queries) + one.keyed * kept


def _mlp_pairs(model: Model, width: int, fused: bool, hidden: int = 0) -> int:
    """In + out of all matrices of an MLP; gate and up read their input once where they are one product."""
    hidden = hidden or model.hidden
    if not model.gated:
        return 2 * (hidden + width)
    return (2 if fused else 3) * hidden + 3 * width


def _mixer_pairs(hidden: int, mixer: Mixer) -> int:
    """In + out of a mixer's matrices: into it, and of the delta rule once more for its two numbers a head, and out of it."""
    if mixer.kind == "convolution":
        return 2 * hidden + 4 * mixer.values
    beside = hidden + 2 * mixer.heads if mixer.kind == "delta" else mixer.heads
    return hidden + mixer.convolved + mixer.values + beside + mixer.values + hidden


def _norms(model: Model) -> int:
    """Those of a layer, with what brings its own embedding in: a gate, a product back to h, a norm."""
    own = (2 * model.per_layer + 1) * model.hidden if model.per_layer else 0
    return model.norms * model.hidden * (2 if model.layer_norm else 1) + own


def _layers_table(model: Model) -> int:
    """All layers' own embeddings: one table, a product of the token's embedding, a norm (transformers 5.23 models/gemma4)."""
    width = model.layers * model.per_layer
    return (model.vocab + model.hidden) * width + model.per_layer


def heads(model: Model) -> tuple[Wide, ...]:
    """Layers with attention by the width of their heads, the most first."""
    layers, keyed = model.attends, model.keyed or model.attends
    if model.wide:
        layers, keyed = layers - model.wide.layers, keyed - model.wide.keyed
    plain = Wide(layers=layers, keyed=keyed, head_dim=head_dim(model), kv_heads=model.kv_heads)
    return (plain, model.wide) if model.wide else (plain,)


def _attentions(model: Model) -> int:
    """Attention of all layers; those that read the keys and values of another layer have none themselves."""
    if model.latent:
        return model.attends * _latent_attention(model, model.latent) + _indexers(model, model.latent)
    return sum(
        one.keyed * _attention(model, one) + (one.layers - one.keyed) * _attention(model, replace(one, kv_heads=0))
        for one in heads(model)
    )


def _attention(model: Model, one: Wide) -> int:
    """A layer's with these heads; the norm on its keys goes with them."""
    if model.latent:
        return _latent_attention(model, model.latent) + _indexer(model, model.latent)
    h, d = model.hidden, one.head_dim
    queries, keys = model.heads * d, one.kv_heads * d
    biases = (queries + 2 * keys if model.attention_bias else 0) + (h if model.biases else 0)
    normed = queries + keys if model.wide_norm else d * (2 if keys else 1)
    norms = (normed if model.qk_norm else 0) + (model.heads if model.sinks else 0)
    return (3 if model.attention_gate else 2) * h * queries + (1 if one.one_product else 2) * h * keys + biases + norms


def _latent_attention(model: Model, latent: Latent) -> int:
    """DeepSeek-V2, arXiv:2405.04434, section 2.1: down, a norm, and up again; keys share one rotary part."""
    h, heads = model.hidden, model.heads
    query = heads * (latent.plain + latent.rotary)
    queries = h * latent.query + latent.query + latent.query * query if latent.query else h * query
    keys = h * (latent.key + latent.rotary) + latent.key + latent.key * heads * (latent.plain + latent.value)
    return queries + keys + heads * latent.value * h


def _indexers(model: Model, latent: Latent) -> int:
    return latent.index_layers * _indexer(model, latent)


def _indexer(model: Model, latent: Latent) -> int:
    """What chooses the tokens of a layer: queries, one key with its LayerNorm, a weight for each head, 0 where nothing chooses.

    (transformers 5.23 models/glm_moe_dsa/modeling_glm_moe_dsa.py: GlmMoeDsaIndexer)
    """
    asked = latent.index_heads * latent.index_width
    return latent.query * asked + (model.hidden + 2) * latent.index_width + model.hidden * latent.index_heads


def _mixer(model: Model, mixer: Mixer | None) -> int:
    """A gate as wide as its values beside what is convolved, in and out; per head two numbers (delta) or one, and its constants.

    (transformers 5.23 models/qwen3_next: Qwen3NextGatedDeltaNet; models/nemotron_h: NemotronHMamba2Mixer, whose convolution has biases)
    """
    if not mixer:
        return 0
    if mixer.kind == "convolution":  # transformers 5.23 models/lfm2: Lfm2ShortConv
        return mixer.values * (4 * model.hidden + mixer.kernel)
    delta = mixer.kind == "delta"
    inward = model.hidden * (mixer.convolved + mixer.values + mixer.heads * (2 if delta else 1))
    convolution = mixer.convolved * (mixer.kernel + (0 if delta else 1))
    constants = 2 * mixer.heads + mixer.width if delta else 3 * mixer.heads + mixer.values
    return inward + convolution + constants + mixer.values * model.hidden


def _mlp(model: Model, width: int, hidden: int = 0) -> int:
    """An MLP of this width over the hidden state, or over one of another width."""
    hidden = hidden or model.hidden
    biases = (2 if model.gated else 1) * width + hidden if model.biases and width else 0
    return (3 if model.gated else 2) * hidden * width + biases


def _sparse_mlp(model: Model, moe: Moe) -> int:
    router = moe.experts * model.hidden + (moe.experts if moe.router_bias else 0)
    gate = model.hidden if moe.shared_gate else 0
    narrowed = 2 * model.hidden * moe.latent
    return router + gate + narrowed + moe.experts * _expert(model, moe) + (_mlp(model, moe.shared) if moe.shared else 0)


def _expert(model: Model, moe: Moe) -> int:
    return _mlp(model, moe.width, model.routed)
