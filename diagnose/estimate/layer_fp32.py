"""Bytes that a decoder layer keeps of one token where everything is computed in fp32: no weight in 16 bits, no autocast.

A norm keeps its input, the normed value and the product with its weight, four bytes each and none of them twice, since nothing is cast;
every other value is twice as wide as in 16 bits. tests/data/measured_cpu.toml holds what PyTorch really keeps of three models
with RMSNorm and a gate; LayerNorm, other activations and experts follow by the same rule.
"""

from __future__ import annotations

from diagnose.estimate.layer import Widths, attention_bytes_per_token, shared_bytes_per_token

# times what 16 bits take: the live tensors of a pass that keeps nothing, and gradients on their way
NO_GRAD = BACKWARD = 2
HEAD_INPUT = 12  # a hidden number: the last norm's input, normed value and product
FROZEN_HEAD_INPUT = 8  # the same without the normed value, which only the gradient of the norm's weight reads


def fp32_layer_bytes_per_token(w: Widths) -> float:
    """Bytes that one layer keeps of one token for its backward pass, nothing recomputed."""
    a_norm = 8 if w.layer_norm else 12
    norms = ((1 if w.alone else 2) * a_norm - (4 if w.layer_norm and w.parallel else 0) + 8 * w.after) * w.hidden
    inner = (8 * (w.q + w.keys) if w.qk_norm else 0) + 12 * w.ranks
    mlp = (28 if w.clamped else 16 if w.gated else 20 if w.stepwise else 4 if w.relu else 8) * w.mlp + 8 * w.routed
    return norms + inner + _attention(w) + mlp + (w.routing + 2 * w.shared) * w.hidden


def fp32_frozen_layer_bytes_per_token(w: Widths, on: str) -> float:
    """The same under adapters ``on`` all or some linear layers: nothing casts what they read, which is kept once."""
    norms = ((4 if w.alone else 8) + 4 * w.after) * w.hidden
    inner = (4 * (w.q + w.keys) if w.qk_norm else 0) + 4 * w.ranks
    mlp = (24 if w.clamped else 12 if w.gated else 16 if w.stepwise else 4) * w.mlp + 8 * w.routed
    return norms + inner + _attention(w) + mlp + 2 * w.shared * w.hidden + 2 * shared_bytes_per_token(w, on)


def _attention(w: Widths) -> float:
    """Twice as wide but for the kernel's one fp32 number a head."""
    in_16_bits = attention_bytes_per_token(w)
    return 2 * in_16_bits - (4 * w.heads if w.mixes is None else 0)
