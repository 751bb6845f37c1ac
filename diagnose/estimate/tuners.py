"""Tuners on a frozen base that are no pair of narrow matrices: what they train, what they hold beside that, what they keep of a pass.

BOFT (Liu et al. 2023, arXiv:2311.06243) rotates the input of each product by blocks along its diagonal, and makes the whole rotation of
i x i for it, i the width of that input; each product has a permutation of i x i. VeRA (Kopiczko et al. 2023, arXiv:2310.11454) trains
two vectors for each product around one pair of random matrices that all share. Both as peft 0.20 tuners/boft/layer.py and
tuners/vera/layer.py, model.py write them, with vectors and blocks in fp32 on a base of 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterator

from diagnose.batch import Values, whole
from diagnose.estimate.layer import Widths
from diagnose.estimate.shape import head_dim
from diagnose.knowledge.hardware import Model

SOURCE = "peft 0.20 tuners/boft/layer.py: Linear.forward, cayley_batch; tuners/vera/layer.py: Linear.forward"
_BLOCK, _VERA_RANK = 4, 256  # peft 0.20 tuners/boft/config.py: boft_block_size; tuners/vera/config.py: r


def kind(model: Model, values: Values) -> str:
    """``boft``, ``vera``, or nothing: of products with low ranks or of a mixer neither is counted."""
    named = str(values.get("adapter_kind", "lora"))
    return "" if named == "lora" or model.latent or model.mixer or values.get("strategy") == "megatron" else named


def parameters(model: Model, values: Values) -> float:
    """Trained parameters: a block of b x b for each b of the input and one number for each of the output; or the two vectors."""
    products = _adapted(model, values)
    if kind(model, values) == "vera":
        return float(sum(number * (_rank(values) + out) for number, _, out in products))
    return float(sum(number * (into * _block(values, into) + out) for number, into, out in products))


def buffers(model: Model, values: Values) -> float:
    """Numbers that stand beside them and are not trained: all permutations; or the one pair, for the widest input and output."""
    products = list(_adapted(model, values))
    if kind(model, values) == "vera":
        return float(_rank(values) * (max(into for _, into, _ in products) + max(out for _, _, out in products)))
    return float(sum(number * into**2 for number, into, _ in products))


def kept_bytes(model: Model, values: Values) -> float:
    """Bytes that a layer keeps however many tokens it reads.

    BOFT: of each product permutation, unit matrix and rotation in 16 bits, and in fp32 what its blocks are solved from, twice, and
    their solution (BOFT Linear.forward, cayley_batch). VeRA: the parts of both matrices that fit, in 16 bits.
    """
    products = _adapted(model, values)
    if kind(model, values) == "vera":
        return sum(number * 2 * _rank(values) * (into + out) for number, into, out in products) / model.layers
    each = (number * (6 * into**2 + 12 * into * _block(values, into)) for number, into, _ in products)
    return sum(each) / model.layers


def kept_bytes_per_token(w: Widths, model: Model, values: Values) -> float:
    """Bytes that a layer keeps of a token beside what it keeps without a tuner.

    BOFT: the inputs of its products, as they are, and each output before it is scaled. VeRA: of each product both values that a vector
    multiplies.
    """
    if kind(model, values) == "vera":
        return sum(number * 2 * (_rank(values) + out) for number, _, out in _adapted(model, values)) / model.layers
    given = w.q + 2 * w.keys + w.hidden + (2 if w.gated else 1) * w.mlp + w.hidden
    return 2 * (2 * w.hidden + w.mlp) + 2 * given


def _rank(values: Values) -> int:
    return whole(values, "lora_rank") or _VERA_RANK


def _block(values: Values, into: int) -> float:
    """Rows of a block, as stated or as they come of a number of blocks."""
    blocks = whole(values, "adapter_blocks")
    return into / blocks if blocks else whole(values, "adapter_block") or _BLOCK


def _adapted(model: Model, values: Values) -> Iterator[tuple[int, int, int]]:
    """The products that have a tuner: all, or those of the shape of the value's.

    (modelscope/ms-swift v4.6.0 swift/pipelines/train/tuner.py: get_vera_target_modules)
    """
    value = (model.hidden, model.kv_heads * head_dim(model))
    alike = kind(model, values) == "vera"
    yield from (one for one in _products(model) if not alike or one[1:] == value)


def _products(model: Model) -> Iterator[tuple[int, int, int]]:
    """How many of each linear layer, the widths of its input and its output."""
    h, queries, keys = model.hidden, model.heads * head_dim(model), model.kv_heads * head_dim(model)
    yield model.attends, h, queries
    yield 2 * model.attends, h, keys
    yield model.attends, queries, h
    inward, moe, dense = (2 if model.gated else 1), model.moe, model.mlps - model.sparse
    wide = [(dense, h, model.intermediate)]
    if moe:
        wide += [(0 if moe.stacked else model.sparse * moe.experts, model.routed, moe.width)]
        wide += [(model.sparse, h, moe.shared)] if moe.shared else []
    for number, side, width in wide:
        if number:
            yield inward * number, side, width
            yield number, width, side
