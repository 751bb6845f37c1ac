"""A model that its command builds from numbers, as a record: the arguments of Megatron's pretraining, which name no model.

(NVIDIA/Megatron-LM@d98e8a6 megatron/training/arguments.py: _add_network_size_args, _add_moe_args, _add_mla_args, validate_args;
megatron/training/tokenizer/tokenizer.py: vocab_size_with_padding)
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from typing import Any

from diagnose.facts.settings import written
from diagnose.facts.settings.spelling import normal
from diagnose.knowledge.hardware import Latent, Model, Moe
from diagnose.types import Paste

_SIZES = ("num_layers", "hidden_size", "num_attention_heads")
# layers that are not all alike, and a second half beside the decoder
_OTHERS = ("hybrid_layer_pattern", "hybrid_override_pattern", "encoder_num_layers", "decoder_num_layers", "img_h")
_DENSE = re.compile(r"\[0\]\s*\*\s*(\d{1,3})", re.A)
_ABOUT: dict[str, Any] = {
    "slug": "", "body": "", "title": "the command's own model", "reviewed": datetime.date.min, "sources": ("the command as pasted",),
}  # fmt: skip
_TABLE = 50257  # of the tokenizer that merges and words in two files belong to


def of_flags(paste: Paste) -> Model | None:
    """None where a number that is needed is missing, or where the layers are of several kinds."""
    flags = {normal(one.key): one.value for one in paste.settings if one.shape == "flag"}
    layers, hidden, heads = (_whole(flags, key) for key in _SIZES)
    vocab = _vocabulary(flags)
    if not (layers and hidden and heads and vocab) or any(key in flags for key in _OTHERS):
        return None
    gated, latent = _on(flags, "swiglu"), _latent(flags)
    width = _whole(flags, "ffn_hidden_size") or (int(4 * hidden * 2 / 3 / 64) * 64 if gated else 4 * hidden)
    groups = (_whole(flags, "num_query_groups") or 1) if _on(flags, "group_query_attention") else heads
    # of latent attention one KV head of half the numbers that the cache holds
    kv_heads, head_dim = (1, (latent.key + latent.rotary) // 2) if latent else (groups, _whole(flags, "kv_channels"))
    moe, tied = _moe(flags, layers, width), not _on(flags, "untie_embeddings_and_output_weights")
    attention = _attention(hidden, heads, head_dim or hidden // heads, kv_heads, latent)
    params = layers * attention + _products(hidden, width, layers, moe, 3 if gated else 2)
    params += vocab * hidden * (1 if tied else 2)
    return Model(
        **_ABOUT,
        hidden=hidden,
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        intermediate=width,
        vocab=vocab,
        tied=tied,
        published=params,
        params_b=round(params / 1e9, 3),
        max_position=_whole(flags, "max_position_embeddings"),
        gated=gated,
        qk_norm=_on(flags, "qk_layernorm") and latent is None,
        layer_norm=written.bare(flags.get("normalization", "LayerNorm")) == "LayerNorm",
        moe=moe,
        latent=latent,
    )


def _whole(flags: Mapping[str, str], key: str) -> int:
    number = written.number(flags.get(key, ""))
    return number if isinstance(number, int) and number > 0 else 0


def _on(flags: Mapping[str, str], key: str) -> bool:
    return key in flags and written.truth(flags[key]) is not False


def _vocabulary(flags: Mapping[str, str]) -> int:
    """As many rows as the table has on the ranks together."""
    size = _whole(flags, "vocab_size") or (_TABLE if "merge_file" in flags else 0)
    each = (_whole(flags, "make_vocab_size_divisible_by") or 128) * (_whole(flags, "tensor_model_parallel_size") or 1)
    return _whole(flags, "padded_vocab_size") or math.ceil(size / each) * each


def _latent(flags: Mapping[str, str]) -> Latent | None:
    if not _on(flags, "multi_latent_attention"):
        return None
    return Latent(
        key=_whole(flags, "kv_lora_rank") or 512,
        plain=_whole(flags, "qk_head_dim") or 128,
        rotary=_whole(flags, "qk_pos_emb_head_dim") or 64,
        value=_whole(flags, "v_head_dim") or 128,
        query=_whole(flags, "q_lora_rank"),
    )


def _moe(flags: Mapping[str, str], layers: int, width: int) -> Moe | None:
    experts = _whole(flags, "num_experts")
    if not experts:
        return None
    pattern = flags.get("moe_layer_freq", "")
    every = _whole(flags, "moe_layer_freq") or 1
    dense = sum(map(int, _DENSE.findall(pattern))) or layers - math.ceil(layers / every)
    return Moe(
        experts=experts,
        active=_whole(flags, "moe_router_topk") or 2,
        width=_whole(flags, "moe_ffn_hidden_size") or width,
        shared=_whole(flags, "moe_shared_expert_intermediate_size"),
        dense_layers=min(dense, layers),
    )


def _attention(hidden: int, heads: int, width: int, kv_heads: int, latent: Latent | None) -> int:
    if latent is None:
        return hidden * width * (2 * heads + 2 * kv_heads)
    query = heads * (latent.plain + latent.rotary)
    size = latent.query * (hidden + query) if latent.query else hidden * query
    size += hidden * (latent.key + latent.rotary) + latent.key * heads * (latent.plain + latent.value)
    return size + heads * latent.value * hidden


def _products(hidden: int, width: int, layers: int, moe: Moe | None, matrices: int) -> int:
    """Parameters of all MLPs; norms and biases, less than a thousandth, are left out."""
    dense = matrices * hidden * width
    if moe is None:
        return layers * dense
    sparse = hidden * moe.experts + matrices * hidden * (moe.experts * moe.width + moe.shared)
    return moe.dense_layers * dense + (layers - moe.dense_layers) * sparse
