"""The tensors of a decoder by the names that transformers gives them, and those of them that patterns name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from diagnose.estimate.shape import Shape, head_dim
from diagnose.knowledge.hardware import Model, Moe

# What is tried on names is what a stranger wrote: no groups that repeat, and few atoms that do, so that a match takes no time.
_SIMPLE = re.compile(r"\^?(?:(?:[\w-]|\\?\.|\\d|\[\^?[\w-]+\])[+*?]?|\([\w.|]+\))+\$?", re.A)
_LONGEST, _MOST_REPEATED, _MOST_WILD = 200, 4, 2
_ROWS = re.compile(r"\[\d*(?::\d*)?\]$", re.A)  # rows of a tensor, whose gradient and moments are those of all
_MOST_PATTERNS = 2000
_LAYER = "model.layers.{}."


class Tensor(NamedTuple):
    """``names``: as releases of transformers call it; ``layer``: the decoder layer that it is of, -1 for embedding, norm and head."""

    names: tuple[str, ...]
    parameters: float
    layer: int


def patterns(written: str) -> tuple[re.Pattern[str], ...] | None:
    """The patterns of a list, as Axolotl reads them: a dot is a dot unless it is repeated; None where one is no plain pattern.

    (axolotl-ai-cloud/axolotl@067b021 src/axolotl/utils/freeze.py: LayerNamePattern)
    """
    found = []
    listed = written[1:-1] if written.startswith("[") and written.endswith("]") else written
    words = [word.strip(" '\"") for word in re.split(r",\s", listed)][:_MOST_PATTERNS]
    for word in words:
        name = _ROWS.sub("", word)
        repeated = len(re.findall(r"[+*?]", name))
        wild = name.count(".+") + name.count(".*")
        if len(name) > _LONGEST or not _SIMPLE.fullmatch(name) or repeated > _MOST_REPEATED or wild > _MOST_WILD:
            return None
        found.append(re.compile(re.sub(r"(?<!\\)\.(?!\+)", r"\.", name), re.A))
    return tuple(found) or None


@lru_cache(maxsize=64)
def named(model: Model, numbers: Shape, written: str) -> tuple[Tensor, ...] | None:
    """The tensors that the patterns name; None where a pattern cannot be read or names none that is known."""
    tried, found = patterns(written), []
    if tried is None:
        return None
    unused = set(tried)
    for tensor in tensors(model, numbers):
        fits = [one for one in tried if any(one.match(name) for name in tensor.names)]
        unused -= set(fits)
        if fits:
            found.append(tensor)
    return None if unused else tuple(found)


def tensors(model: Model, numbers: Shape) -> Iterator[Tensor]:
    """All of a decoder of attention and MLPs, in their order; of layers of another kind each as one."""
    norm = numbers.root - numbers.embedding * (1 if model.tied else 2)
    yield Tensor(("model.embed_tokens.weight",), numbers.embedding, -1)
    body = (numbers.parameters - numbers.root - numbers.vision) / model.layers
    plain = not (
        model.latent or model.mixer or model.wide or model.doubled or model.mlp_layers or model.attention_layers
    )
    for layer in range(model.layers):
        parts = list(_of_layer(model, layer)) if plain else []
        start = _LAYER.format(layer)
        for names, size in parts:
            yield Tensor(tuple(start + name for name in names), size, layer)
        if plain and not model.moe:
            yield Tensor((f"{start}input_layernorm.weight",), body - sum(size for _, size in parts), layer)
        elif not plain:
            yield Tensor((start,), body, layer)
    yield Tensor(("model.norm.weight",), norm, -1)
    if not model.tied:
        yield Tensor(("lm_head.weight",), numbers.embedding, -1)


def _of_layer(model: Model, layer: int) -> Iterator[tuple[tuple[str, ...], float]]:
    """The matrices of a layer; its biases and norms are small beside them."""
    h, queries, keys = model.hidden, model.heads * head_dim(model), model.kv_heads * head_dim(model)
    for name, size in (("q", h * queries), ("k", h * keys), ("v", h * keys), ("o", queries * h)):
        yield (f"self_attn.{name}_proj.weight",), size
    moe = model.moe
    if moe and layer >= model.layers - model.sparse:
        yield from _of_experts(model, moe)
        return
    for name in ("gate", "up", "down")[0 if model.gated else 1 :]:
        yield (f"mlp.{name}_proj.weight",), h * model.intermediate


def _of_experts(model: Model, moe: Moe) -> Iterator[tuple[tuple[str, ...], float]]:
    """All experts of a layer by the name of the first; w1, w3 and w2 are gate, up and down."""
    yield ("block_sparse_moe.gate.weight", "mlp.gate.weight"), moe.experts * model.hidden
    for name, number in (("gate", 1), ("up", 3), ("down", 2))[0 if model.gated else 1 :]:
        stacked = "mlp.experts.down_proj" if name == "down" else "mlp.experts.gate_up_proj"
        names = (f"block_sparse_moe.experts.0.w{number}.weight", f"mlp.experts.0.{name}_proj.weight", stacked)
        yield names, moe.experts * model.routed * moe.width
        if moe.shared:
            yield (
                (f"mlp.shared_expert.{name}_proj.weight", f"mlp.shared_experts.{name}_proj.weight"),
                model.hidden * moe.shared,
            )
