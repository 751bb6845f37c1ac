"""A pasted config.json as a model record: dense and sparse models, with a vision tower where it has one.

Names of the keys: huggingface/transformers src/transformers/models/{qwen2,qwen3_moe,mixtral,qwen2_5_vl,deepseek_v3}/configuration_*.py.
What its code does and no number says (norms, gates, biases) is that of the family of the catalogue whose name its type begins with.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from dataclasses import replace

from diagnose.facts.models.model_names import packed
from diagnose.facts.settings import written
from diagnose.knowledge.hardware import Latent, Model, Moe, Vision
from diagnose.types import Fact, Paste

_SHAPE = {
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "intermediate": "intermediate_size",
    "vocab": "vocab_size",
}
_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts")
_TOWER = ("vision_config.", "audio_config.", "visual.", "talker_config.", "speech_config.")
# what a family's layers have alike, whatever their sizes
_ALIKE = (
    "qk_norm", "wide_norm", "norms", "layer_norm", "fp32_norm", "gated", "clamped", "stepwise", "parallel", "biases", "head_bias",
    "fused_qkv", "capped", "sinks", "fp16_overflows",
)  # fmt: skip
_EXPERTS_ALIKE = ("shared_gate", "router_bias", "fp32_router", "stacked", "split_to_quantize", "at_once_below")
# latent attention: what a record calls the widths that it is made of (models/deepseek_v3/configuration_deepseek_v3.py)
_LATENT = {"key": "kv_lora_rank", "plain": "qk_nope_head_dim", "rotary": "qk_rope_head_dim", "value": "v_head_dim"}


def of_config(paste: Paste, catalogue: Collection[Model] = ()) -> Model | None:
    """A pasted config.json as a record; None when a number that is needed is missing."""
    settings = [setting for setting in paste.settings if setting.shape in ("json", "yaml", "python")]
    towers = {setting.key: setting.value for setting in settings if setting.key.startswith(_TOWER)}
    values = {setting.key.rsplit(".", 1)[-1]: setting.value for setting in settings if setting.key not in towers}
    shape = {field: _whole(values, key) for field, key in _SHAPE.items()}
    latent = _latent(values)
    if not all(shape.values()) or (latent is None and _whole(values, _LATENT["key"])):
        return None
    moe = _moe(values, shape)
    if moe is None and any(_whole(values, key) for key in _EXPERTS):
        return None
    found = _record(values, shape, moe, _vision(towers, shape["hidden"]), latent)
    kin = _kin(written.bare(values.get("model_type", "")), found, catalogue)
    return _alike(found, kin) if kin else found


def _alike(model: Model, kin: Model) -> Model:
    """The model with what the layers of its family have alike."""
    if model.moe and kin.moe:
        moe = replace(model.moe, **{field: getattr(kin.moe, field) for field in _EXPERTS_ALIKE})
        model = replace(model, moe=moe)
    return replace(model, **{field: getattr(kin, field) for field in _ALIKE})


def _kin(kind: str, model: Model, catalogue: Collection[Model]) -> Model | None:
    """A record of the family with the longest name that the type begins with; sparse of a sparse model, all its layers alike."""
    name = packed(kind)
    alike = [one for one in catalogue if one.family and name.startswith(packed(one.family)) and not _own_layers(one)]
    alike = [one for one in alike if (one.latent is None) == (model.latent is None)]
    alike = [one for one in alike if (one.moe is None) == (model.moe is None)]
    return max(alike, key=lambda one: len(packed(one.family)), default=None)


def _own_layers(model: Model) -> bool:
    """Whether its layers differ among each other, or in what no number of a plain config.json says."""
    return bool(model.mixer or _indexes(model.latent) or model.wide or model.keyed or model.doubled or model.per_layer)


def _indexes(latent: Latent | None) -> bool:
    return latent is not None and latent.index_layers > 0


def params_of_config(model: Model) -> Fact:
    """Its size as a fact."""
    return Fact("params_b", model.params_b, "derived", why=f"the shape numbers of {model.sources[0]}")


def _whole(values: Mapping[str, str], key: str) -> int:
    number = written.number(values.get(key, ""))
    return number if isinstance(number, int) and number > 0 else 0


def _moe(values: Mapping[str, str], shape: Mapping[str, int]) -> Moe | None:
    experts = next((count for key in _EXPERTS if (count := _whole(values, key))), 0)
    active = _whole(values, "num_experts_per_tok")
    if not (experts and active):
        return None
    width = _whole(values, "moe_intermediate_size") or shape["intermediate"]
    shared = _whole(values, "shared_expert_intermediate_size") or _whole(values, "n_shared_experts") * width
    dense = _whole(values, "first_k_dense_replace")
    return Moe(experts=experts, active=active, width=width, shared=shared, dense_layers=dense)


def _latent(values: Mapping[str, str]) -> Latent | None:
    """Queries and keys through narrow ranks; None where a width is missing, or where an index chooses the tokens that are attended to."""
    widths = {field: _whole(values, key) for field, key in _LATENT.items()}
    if not all(widths.values()) or _whole(values, "index_n_heads"):
        return None
    return Latent(**widths, query=_whole(values, "q_lora_rank"))


def _vision(values: Mapping[str, str], text_hidden: int) -> Vision | None:
    """A tower of gated layers with a merger of four patches into a token, as in Qwen2.5-VL; another one is not counted."""
    named = {key.rsplit(".", 1)[-1]: value for key, value in values.items() if key.startswith("vision_config.")}
    hidden, layers, width = (_whole(named, key) for key in ("hidden_size", "depth", "intermediate_size"))
    patch, merge = _whole(named, "patch_size") or 14, _whole(named, "spatial_merge_size") or 2
    if not (hidden and layers and width):
        return None
    merged = hidden * merge**2
    params = layers * (4 * hidden**2 + 3 * hidden * width) + merged * (merged + text_hidden) + 6 * patch**2 * hidden
    pixels = (patch * merge) ** 2
    return Vision(hidden=hidden, layers=layers, params=params, pixels_per_token=pixels, intermediate=width, patch=patch)


def _record(
    values: Mapping[str, str], shape: Mapping[str, int], moe: Moe | None, vision: Vision | None, latent: Latent | None
) -> Model:
    kv_heads = _whole(values, "num_key_value_heads") or shape["heads"]
    head_dim = _whole(values, "head_dim")
    if latent:  # one KV head of half the numbers that the cache holds
        kv_heads, head_dim = 1, (latent.key + latent.rotary) // 2
    tied = written.truth(values.get("tie_word_embeddings", "")) or False
    params = _parameters(shape, kv_heads, head_dim, moe, latent) + shape["vocab"] * shape["hidden"] * (1 if tied else 2)
    params += vision.params if vision else 0
    name = written.bare(values.get("_name_or_path", "")).rstrip("/").rsplit("/", 1)[-1]
    return Model(
        slug="",
        body="",
        title=name or "the pasted config.json",
        reviewed=datetime.date.min,
        sources=("config.json as pasted",),
        hidden=shape["hidden"],
        layers=shape["layers"],
        heads=shape["heads"],
        intermediate=shape["intermediate"],
        vocab=shape["vocab"],
        kv_heads=kv_heads,
        head_dim=head_dim,
        tied=tied,
        published=params,
        params_b=round(params / 1e9, 2),
        max_position=_whole(values, "max_position_embeddings"),
        attention_bias=bool(written.truth(values.get("attention_bias", ""))),
        moe=moe,
        vision=vision,
        latent=latent,
    )


def _parameters(shape: Mapping[str, int], kv_heads: int, head_dim: int, moe: Moe | None, latent: Latent | None) -> int:
    """Those of the layers, norms and biases left out: they are less than a thousandth."""
    hidden, layers = shape["hidden"], shape["layers"]
    width = head_dim or hidden // shape["heads"]
    attention = hidden * width * (2 * shape["heads"] + 2 * kv_heads)
    if latent:
        heads, query = shape["heads"], shape["heads"] * (latent.plain + latent.rotary)
        attention = latent.query * (hidden + query) if latent.query else hidden * query
        attention += hidden * (latent.key + latent.rotary) + latent.key * heads * (latent.plain + latent.value)
        attention += heads * latent.value * hidden
    dense = 3 * hidden * shape["intermediate"]
    if moe is None:
        return layers * (attention + dense)
    sparse = hidden * moe.experts + 3 * hidden * (moe.experts * moe.width + moe.shared)
    return layers * attention + moe.dense_layers * dense + (layers - moe.dense_layers) * sparse
