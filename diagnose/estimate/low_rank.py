"""Adam in a subspace: moments of the projected gradient of each matrix, whole moments for what is not projected.

A gradient of m x n, m no larger than n, is projected to r x n. GaLore keeps the m x r projection and two moments of r x n
(Zhao et al. 2024, arXiv:2403.03507, table 1: mr + 2nr); APOLLO draws its projection anew from a seed and keeps the moments alone (Zhu et
al. 2024, arXiv:2412.05270, table 1: 2nr + 2). Table, head and norms keep both of Adam's moments, since only linear layers are projected.
"""

from __future__ import annotations

from collections.abc import Iterator

from diagnose.batch import Values, whole
from diagnose.estimate.shape import head_dim
from diagnose.knowledge.hardware import Model

_STORED, _DRAWN = "galore", "apollo"
_RANK = 128  # transformers 4.51 trainer.py: get_optimizer_cls_and_kwargs


def projected(values: Values) -> bool:
    """Whether the optimizer works on projected gradients."""
    name = str(values.get("optimizer", "")).lower()
    return _STORED in name or _DRAWN in name


def state_elements(model: Model, values: Values) -> tuple[float, float] | None:
    """Numbers in the moments of all projected matrices, and in their projections; None where the layers are of another kind."""
    if model.latent or model.mixer:
        return None
    rank = whole(values, "optimizer_rank") or _RANK
    stored = _STORED in str(values.get("optimizer", "")).lower()
    moments = sum(number * 2 * min(rank, m) * n for number, m, n in _matrices(model))
    projections = sum(number * min(rank, m) * m for number, m, n in _matrices(model)) if stored else 0.0
    return moments, projections


def _matrices(model: Model) -> Iterator[tuple[float, int, int]]:
    """How many of each linear layer, its shorter side, its longer side."""
    h, queries, keys = model.hidden, model.heads * head_dim(model), model.kv_heads * head_dim(model)
    for number, side in ((2 * model.attends, queries), (2 * model.attends, keys)):
        yield number, min(h, side), max(h, side)
    each, dense = (3 if model.gated else 2), model.mlps - model.sparse
    yield each * dense, min(h, model.intermediate), max(h, model.intermediate)
    if model.moe:
        yield each * model.sparse * model.moe.experts, min(h, model.moe.width), max(h, model.moe.width)
        if model.moe.shared:
            yield each * model.sparse, min(h, model.moe.shared), max(h, model.moe.shared)
