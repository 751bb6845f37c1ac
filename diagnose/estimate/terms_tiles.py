"""A loss that makes logits tile by tile, some tokens by some words, and each tile again in the backward pass.

(huggingface/trl v1.16.0 trl/kernels/chunked_logprob.py: ChunkedLogProbFunction; trl/trainer/utils.py: add_fused_lm_head) The tile is as
wide as it may be, however few words there are. Beside it stand the hidden states that are scored, picked out of the last norm's output, the
words' part of the head in the type of the tile, and in the backward pass fp32 gradients of both, as large as the whole head where it is
trained.
"""

from __future__ import annotations

from diagnose.estimate.plan import Plan
from diagnose.estimate.rank import in_fp32, stream_bytes
from diagnose.estimate.term import Band, count, make_term
from diagnose.estimate.tokens import Pass
from diagnose.types import Term

_SOURCE = "the loss’s own code, counted line by line; the record of the framework names file and lines"
_MOVED = ("logits_chunked", "precision", "full_or_lora")
_SUM = 4.0  # of gradients


def head_by_tiles(plan: Plan) -> bool:
    """Whether the head is multiplied outside of what autocast keeps."""
    return plan.number("tile_words") is not None and not plan.makes_logits


def tiles(plan: Plan, one: Pass, trains: bool) -> list[Term]:
    """The tile and what stands beside it, in a pass without gradient or at the start of the backward pass."""
    words, most = plan.number("tile_words"), plan.number("tile_tokens")
    if words is None or most is None or plan.makes_logits:
        return []
    a_value, stream, hidden = 4.0 if in_fp32(plan) else 2.0, stream_bytes(plan), plan.model.hidden
    scored = one.tokens.times(one.response)
    tile = scored.at_most(most).times(a_value * words)
    states = scored.times(hidden * (stream + (_SUM if trains else 0.0)))
    beside = a_value * min(words, plan.model.vocab) * hidden if plan.each.unpacked > a_value else 0.0
    beside += _SUM * plan.shape.embedding if trains and not plan.adapters else 0.0
    how = f"{a_value:g} B × at most {most:g} tokens × {words:g} words, {count(beside)} B of the head beside"
    size = Band(*(each + state + beside for each, state in zip(tile, states, strict=True)))
    moved_by = (*one.moved_by, *_MOVED)
    return [make_term("logits_chunk", "a tile of logits", "work", size, how, _SOURCE, moved_by)]
