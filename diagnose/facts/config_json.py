"""A pasted config.json of a dense model as a model record."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from diagnose.facts import written
from diagnose.knowledge.hardware import Model
from diagnose.types import Paste

_SHAPE = {
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "intermediate": "intermediate_size",
    "vocab": "vocab_size",
}


def of_config(paste: Paste) -> Model | None:
    """A pasted config.json of a dense model as a record; None when a number that is needed is missing."""
    values = {setting.key.rsplit(".", 1)[-1]: setting.value for setting in paste.settings}
    shape = {field: written.number(values.get(key, "")) for field, key in _SHAPE.items()}
    if not all(isinstance(number, int) for number in shape.values()) or "num_experts" in values:
        return None
    numbers = {field: int(number or 0) for field, number in shape.items()}
    kv_heads = written.number(values.get("num_key_value_heads", "")) or numbers["heads"]
    head_dim = written.number(values.get("head_dim", "")) or 0
    tied = written.truth(values.get("tie_word_embeddings", "")) or False
    width = int(head_dim) or numbers["hidden"] // max(1, numbers["heads"])
    attention = numbers["hidden"] * width * (2 * numbers["heads"] + 2 * int(kv_heads))
    layer = attention + 3 * numbers["hidden"] * numbers["intermediate"]
    params = numbers["layers"] * layer + numbers["vocab"] * numbers["hidden"] * (1 if tied else 2)
    return _record(numbers, int(kv_heads), int(head_dim), tied, params, values)


def _record(
    numbers: Mapping[str, int], kv_heads: int, head_dim: int, tied: bool, params: int, values: Mapping[str, str]
) -> Model:
    return Model(
        slug="",
        body="",
        title=written.bare(values.get("_name_or_path", "")) or "the pasted config.json",
        reviewed=datetime.date.min,
        sources=("config.json as pasted",),
        kv_heads=kv_heads,
        head_dim=head_dim,
        tied=tied,
        published=params,
        params_b=round(params / 1e9, 2),
        hidden=numbers["hidden"],
        layers=numbers["layers"],
        heads=numbers["heads"],
        intermediate=numbers["intermediate"],
        vocab=numbers["vocab"],
        max_position=int(written.number(values.get("max_position_embeddings", "")) or 0),
        attention_bias=bool(written.truth(values.get("attention_bias", ""))),
    )
