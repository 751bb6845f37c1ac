"""An MLP that goes through its tokens in parts, keeps its input alone, and makes each part again when its gradient comes.

(deepspeed 0.17.2 runtime/sequence_parallel/ulysses_sp.py: TiledMLP; verl-project/verl@1dda039 verl/models/transformers/tiled_mlp.py)
"""

from __future__ import annotations

import math

from diagnose.batch import whole
from diagnose.estimate.layer import Widths
from diagnose.estimate.plan import Plan


def in_parts(plan: Plan) -> bool:
    """Whether the MLP is: not in sparse models, nor in layers of Megatron's own."""
    if plan.model.moe or plan.values.get("strategy") == "megatron":
        return False
    sized = plan.values.get("mlp_parts_by_width") is True or bool(whole(plan.values, "mlp_part_tokens"))
    return sized or (whole(plan.values, "mlp_parts") or 1) > 1


def part_of_tokens(plan: Plan, tokens: float) -> float:
    """The share of a pass's tokens that one part holds."""
    if number := whole(plan.values, "mlp_parts"):
        return 1 / max(1, number)
    by_width = plan.values.get("mlp_parts_by_width") is True
    each = plan.model.hidden if by_width else whole(plan.values, "mlp_part_tokens")
    return 1 / max(1, math.ceil(tokens / each)) if each else 1.0


def kept_widths(plan: Plan, w: Widths) -> Widths:
    """The widths of what a layer keeps: its MLP nothing but the input, which the norm before it gives."""
    return w._replace(mlp=0) if in_parts(plan) else w


def live_widths(plan: Plan, w: Widths, tokens: float) -> Widths:
    """The widths of what a pass that keeps nothing holds at once."""
    return w._replace(mlp=w.mlp * part_of_tokens(plan, tokens)) if in_parts(plan) else w


def at_work(plan: Plan, w: Widths, tokens: float) -> float:
    """Bytes a token beside what the layer keeps: in the MLP's turn or, where that is small, in the attention's.

    The MLP: gradients of its output and its input, and of one part what it keeps and its gradients. The attention: its gradient and those
    of query, key and value, the first added up in fp32, the latter two as wide as the query before groups of heads are joined
    (Dao-AILab/flash-attention@v2.7.4 csrc/flash_attn/flash_api.cpp: mha_bwd); what the norm behind it kept is gone by then.
    """
    mlp = 4 * w.hidden + (8 + 4) * w.mlp * part_of_tokens(plan, tokens)
    keys = w.keys * w.repeats
    wide = 4 * w.q if keys < w.q else 0.0
    norm = 4 if plan.values.get("fused_layers") else 8
    attention = 2 * w.hidden + 8 * w.q + 4 * keys + wide - norm * w.hidden
    return max(mlp, attention)
