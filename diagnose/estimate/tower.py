"""Bytes that one layer of a vision tower keeps of one patch, as autograd counts them over the published model code."""

from __future__ import annotations

from diagnose.knowledge.hardware import Vision

_GATED_BELOW = 3  # a gated MLP is narrower than 4 h (Qwen2.5-VL, arXiv:2502.13923, table 1: 3456 of 1280)


def tower_bytes_per_patch(tower: Vision, fp32: bool = False) -> float:
    """Norms, attention, the MLP; tests/data/measured_cpu.toml holds what PyTorch really keeps.

    14 h for the attention: query, key and value in one tensor, rotated copies of the first two, the output of each image and all of
    them joined; 8 h where nothing is rotated (models/siglip). With LayerNorm 8 h for the norms, 4 h more where what attention and MLP
    give is scaled (models/internvl), and 6 f, since a sigmoid GELU keeps its input, the sigmoid and the product (transformers 4.45
    models/qwen2_vl/modeling_qwen2_vl.py), or 4 f of a GELU that is one kernel (models/qwen3_vl); with RMSNorm and a gate 16 h and 8 f
    (models/qwen2_5_vl). In ``fp32`` all is twice as wide but what a norm casts, which is then kept once.
    """
    mlp = tower.intermediate or 4 * tower.hidden
    if mlp < _GATED_BELOW * tower.hidden:
        return 52 * tower.hidden + 16 * mlp if fp32 else 30 * tower.hidden + 8 * mlp
    attention = 14 if tower.rotary else 8
    norms = 12 if tower.scaled else 8
    return (2 if fp32 else 1) * ((attention + norms) * tower.hidden + (4 if tower.gelu_kernel else 6) * mlp)
