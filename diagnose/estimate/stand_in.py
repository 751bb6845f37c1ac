"""Stand-ins for a model of which only the size is known: dense ones, and sparse ones by what a token passes through."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, replace

from diagnose.estimate.shape import parameters
from diagnose.knowledge.hardware import Model, Moe

ASSUMED = "assumed"


def assumed(model: Model) -> bool:
    """Whether a model is no record of the catalogue and no pasted shape, but what stands in for one."""
    return model.slug == ASSUMED


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
        max_position=0,  # nobody knows
        attention_bias=True,
        family=ASSUMED,
    )
