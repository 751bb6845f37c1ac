"""Bytes of a token in an engine's cache.

2 x layers x ceil(KV heads / TP) x head width x 2 (vLLM v1/kv_cache_interface.py; Kwon et al. 2023, arXiv:2309.06180, section 3).
"""

from __future__ import annotations

import math

from diagnose.estimate.shape import heads
from diagnose.knowledge.hardware import Model


def kv_bytes_per_token(*, layers: int, kv_heads: int, head_dim: int, tp: int = 1, bytes_each: int = 2) -> int:
    """KV bytes of one token on one GPU: keys and values of every layer."""
    return 2 * layers * math.ceil(kv_heads / tp) * head_dim * bytes_each


def cached_bytes_per_token(model: Model, tp: int = 1, bytes_each: int = 2) -> int:
    """KV bytes of one token of ``model`` on one GPU: layers with keys of their own, each with its heads, and an indexer's keys.

    An indexer's key is cached on every rank in 8 bits, with a 4-byte scale for every 128 numbers (vLLM 0.33
    model_executor/models/deepseek_v2.py: Indexer, DeepseekV32IndexerCache).
    """
    latent = model.latent
    index = latent.index_layers * (latent.index_width + 4 * math.ceil(latent.index_width / 128)) if latent else 0
    return index + sum(
        kv_bytes_per_token(layers=one.keyed, kv_heads=one.kv_heads, head_dim=one.head_dim, tp=tp, bytes_each=bytes_each)
        for one in heads(model)
    )
