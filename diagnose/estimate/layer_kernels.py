"""What one kernel for a norm, and one for the gate and its product, spare of what a decoder layer keeps of one token.

A norm in one kernel keeps its input, in the type that it comes in, and one number a row; the gate's keeps gate and up, and writes their
gradients over them (linkedin/Liger-Kernel v0.6.4 src/liger_kernel/ops/rms_norm.py: LigerRMSNormFunction, ops/swiglu.py:
LigerSiLUMulFunction; foundation-model-stack/fms-acceleration@24bdadb kernels/unsloth/rms_layernorm.py). Written out, a norm keeps an fp32
copy of its input and the normed value beside it, and the MLP the gate's activation (layer.py, layer_fp32.py).
"""

from __future__ import annotations

from diagnose.estimate.layer import Widths


def spared_bytes_per_token(w: Widths, mlp: bool, adapters: bool, fp32: bool, all_fp32: bool) -> float:
    """Bytes that a layer keeps less of a token.

    ``mlp``: the MLP has such a kernel as well. ``adapters``: on frozen weights, whose norms keep no normed value. ``fp32``: norms are fp32
    and keep their input itself; ``all_fp32``: so is everything else.
    """
    whole = fp32 or all_fp32
    norms = 0 if adapters and whole else 4 if adapters else 8
    heads = norms / 2 * (w.q + w.keys) if w.qk_norm else 0
    share = 0.5 if w.alone else 1.0
    return share * norms * w.hidden + heads + ((4 if whole else 2) * w.mlp if mlp else 0)
