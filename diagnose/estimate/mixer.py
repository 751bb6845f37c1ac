"""The kinds of layers of a decoder, and what one that mixes its tokens by a recurrent state keeps of a token, with fused kernels.

Where every layer has an MLP of its own, a mixer stands in the place of attention; where attention, mixer and MLP are layers of their
own, each has one norm. Backward through a mixer needs about as much again as it keeps, after the MLP's part of the layer is gone.
"""

from __future__ import annotations

from collections.abc import Iterator

from diagnose.estimate.layer import Widths
from diagnose.estimate.shape import head_dim, heads
from diagnose.knowledge.hardware import Mixer, Model, Wide

_CHUNK = 64  # tokens that the delta rule takes at a time: fla-org/flash-linear-attention bc3b101 fla/ops/gated_delta_rule/chunk.py


def mixer_bytes_per_token(mixer: Mixer) -> float:
    """Bytes that stay between the product into a mixer and the one out of it.

    Delta rule: the convolution's input and its output, queries and keys normed and repeated to all heads, a chunk's matrix and two
    fp32 numbers a head, the output, its gate, and their product (transformers 5.23 models/qwen3_next/modeling_qwen3_next.py:
    Qwen3NextGatedDeltaNet; fla chunk.py: ChunkGatedDeltaRuleFunction). Scan: what the product gave and the output, the rest is made
    again (state-spaces/mamba e9594ce ops/triton/ssd_combined.py: MambaSplitConv1dScanCombinedFn). Convolution: what the product gave,
    three parts, two of them multiplied, what came of it, and that times the third (transformers 5.23 models/lfm2: Lfm2ShortConv).
    """
    if mixer.kind == "convolution":
        return 12 * mixer.values
    if mixer.kind == "scan":
        return 2 * (mixer.convolved + mixer.values + mixer.heads) + 2 * mixer.values
    repeated = 2 * mixer.heads * mixer.state
    return 4 * mixer.convolved + 2 * repeated + (2 * _CHUNK + 8) * mixer.heads + 6 * mixer.values


def kinds(model: Model, w: Widths, tp: int = 1) -> tuple[tuple[int, Widths], ...]:
    """How many layers of each kind there are, and the widths of one, each rank having ``tp`` of what mixes; ``w`` has attention and MLP."""
    if not model.mixer and not model.mlp_layers:
        return tuple(kind for one in heads(model) for kind in _by_mlp(one.layers, _with_heads(w, model, one), model))
    alone = bool(model.mlp_layers)
    bare = w._replace(mlp=0, routed=0, routing=0, shared=0, alone=True) if alone else w
    found = [(model.attends, bare)]
    if model.mixer:
        kept, wide = mixer_bytes_per_token(model.mixer) / tp, model.mixer.values / tp
        found.append((model.mixer.layers, bare._replace(mixes=kept, queries=wide, keys=0, qk_norm=False)))
    if alone:
        found.append((model.mlps, w._replace(mixes=0.0, keys=0, qk_norm=False, alone=True)))
    return tuple(found)


def _with_heads(w: Widths, model: Model, one: Wide) -> Widths:
    """The widths of a layer whose heads may be wider than most."""
    if one is not model.wide:
        return w
    wider = one.head_dim / head_dim(model)
    return w._replace(queries=w.q * wider, keys=w.keys * wider * one.kv_heads / model.kv_heads)


def _by_mlp(layers: int, w: Widths, model: Model) -> Iterator[tuple[int, Widths]]:
    """Layers of one kind by the width of their MLP: as many of each kind have the doubled one as of all."""
    doubled = round(layers * model.doubled / model.layers)
    yield layers - doubled, w
    if doubled:
        yield doubled, w._replace(mlp=2 * w.mlp)
