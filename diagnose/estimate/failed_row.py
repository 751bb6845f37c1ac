"""How long the rows of the pass were that failed: the size that was asked for tells it, where only logits can be so large.

The logits of a pass are one tensor with 2 or 4 bytes for each of its tokens and each word of the vocabulary. What else grows with the
tokens is as wide as the MLP, and what does not is no larger than the model's outermost unit or a bucket of gradients. A request above
all of these is such a tensor, and says within a factor of two how many tokens the pass had. The traceback shows that it failed there.
"""

from __future__ import annotations

from dataclasses import replace

from diagnose.allocator import TENANT, foreign_gib
from diagnose.estimate.phases import gpu_phases
from diagnose.estimate.plan import Plan, plan_of
from diagnose.estimate.refused import Piece, asked_for, asked_in, known_sizes, widths
from diagnose.estimate.rows import longest_row, real_row
from diagnose.estimate.shown import image_pixels, shows_images
from diagnose.estimate.term import exactly
from diagnose.estimate.terms_attention import attention_beside
from diagnose.estimate.terms_logits import in_pass, vocabulary_parts
from diagnose.estimate.terms_router import balancing_loss
from diagnose.estimate.tokens import Pass, rows_drawn, take
from diagnose.knowledge.records import Framework
from diagnose.types import Facts, FailedRow, Paste
from diagnose.units import from_gib

_PASSES = {"actor_update": "update", "logprob": "logprob", "ref_logprob": "ref"}
# Gradients that DeepSpeed reduces at a time: 5e8 by default, of 2 or 4 bytes (deepspeed runtime/zero/config.py: reduce_bucket_size).
_BUCKET = 4 * 500_000_000


def with_failed_row(facts: Facts, fallback: Framework | None = None, paste: Paste | None = None) -> Facts:
    """These facts with what the size that was asked for tells of the rows; as they are where it tells nothing."""
    found = failed_row(facts, fallback, paste)
    return replace(facts, failed_row=found) if found else facts


def failed_row(facts: Facts, fallback: Framework | None = None, paste: Paste | None = None) -> FailedRow | None:
    """The mean row of the pass that failed, in tokens; None where another tensor may have had that size.

    A number of it has 4 bytes where the innermost frame of the ``paste`` makes it so, or the trainer's loss is sure to get it so.
    """
    phase = facts.stated.get("phase")
    asked = asked_for(facts) if facts.values.get("oom_kind") == "gpu_oom" else 0
    if not asked or phase is None or not phase.certain or str(phase.value) not in _PASSES:
        return None
    plan, kind = plan_of(facts, fallback), _PASSES[str(phase.value)]
    one = take(plan, kind) if plan and not (plan.serves or plan.otherwise) else None
    plan = in_pass(plan, kind) if plan else None
    if plan is None or one is None:
        return None
    if pieces := known_sizes(facts):
        return _at_its_limit(plan, one, pieces, asked) if str(phase.value) in asked_in(facts) else None
    if not _only_logits(plan, one, asked):
        return None
    lengths = [_row(plan, one, asked / each) for each in widths(plan, paste)]
    possible = [length for length in lengths if length <= longest_row(plan)]
    if not possible:
        return None
    drawn = rows_drawn(plan, one.rows)
    rows = [FailedRow(possible[0], length, possible[-1], drawn) for length in possible]
    return next((row for row in rows[:-1] if _enough(facts, plan, row, str(phase.value))), rows[-1])


def _at_its_limit(plan: Plan, one: Pass, pieces: tuple[Piece, ...], asked: int) -> FailedRow | None:
    """The row whose logits have this size at a limit; beside an answer that alone has logits stands a prompt of any length."""
    if one.missing or one.packed or one.tokens.exact:
        return None
    drawn, counted = rows_drawn(plan, one.rows), asked / pieces[0].each * vocabulary_parts(plan) / plan.model.vocab
    beside = real_row(plan, drawn)[0] if one.response < 1 else exactly(0)
    row = beside.plus(counted * plan.whole("sp") / one.rows).at_most(longest_row(plan))
    return FailedRow(row.low, row.mid, row.high, drawn)


def _only_logits(plan: Plan, one: Pass, asked: int) -> bool:
    """Whether nothing else of this pass, with all its rows at their limit, is as large as what was asked for."""
    limit = longest_row(plan)
    told = not one.missing and not one.packed and not one.tokens.exact and limit
    beside = (*attention_beside(plan, one, 1), *balancing_loss(plan, one))
    larger = any(term.id != "attention_mask" for term in beside)  # scores or routers of all layers
    if not told or larger or not plan.makes_logits or plan.unread_logits:
        return False
    by_row = plan.does.get("loss_by_row") == "yes"  # then they may be those of one row
    a_row = 4 * plan.model.vocab / vocabulary_parts(plan) * limit if by_row else 0
    tower, layer = _tower(plan, one.rows), _layer(plan, one.rows * limit / plan.whole("sp"))
    return tower is not None and asked > max(tower, layer, _of_any_length(plan), a_row)


def _tower(plan: Plan, rows: float) -> float | None:
    """Bytes of the largest tensor of a vision tower over the largest images, gate and up of its MLP; None where nothing bounds them."""
    tower, pixels = plan.model.vision, image_pixels(plan)
    if tower is None or not shows_images(plan):
        return 0.0
    patches = rows * pixels / tower.patch**2
    return 4 * patches * 2 * max(tower.intermediate, 4 * tower.hidden) if pixels else None


def _layer(plan: Plan, tokens: float) -> float:
    """Bytes of the largest tensor of a layer: gate and up of the MLP, which some models and Megatron make at once, or of all experts.

    Tensor parallel ranks part what is wide; the tensors between the parts are whole.
    """
    each, model = 4 if plan.values.get("precision") == "fp32" else 2, plan.model
    routed, tp = model.moe.active * max(2 * model.moe.width, model.hidden) if model.moe else 0, plan.whole("tp")
    return (
        each * tokens * max(2 * model.intermediate / tp, model.hidden, model.heads * plan.shape.head_dim / tp, routed)
    )


def _of_any_length(plan: Plan) -> float:
    """Bytes of the largest tensor that hangs on no length: weights that are gathered, gradients, a bucket of them.

    Beside adapters the outermost unit has no gradient, and without shards nothing gathers it.
    """
    shards = plan.split.stage == 3
    root = (2 * plan.shape.root if shards else 0) if plan.adapters else 4 * plan.shape.root
    return max(root, 4 * plan.shape.layer, _BUCKET if plan.values.get("strategy") == "deepspeed" else 0)


def _row(plan: Plan, one: Pass, numbers: float) -> float:
    """The mean row of a pass whose logits are so many numbers; where only answers have logits, with its prompt."""
    each = numbers * vocabulary_parts(plan) / plan.model.vocab * plan.whole("sp") / one.rows
    return each if one.response == 1 else each + (1 - one.response) * one.row.mid


def _enough(facts: Facts, plan: Plan, row: FailedRow, phase: str) -> bool:
    """Whether with such rows the phase needs all that was in use and asked for; False where no message tells that."""
    total, free, asked = (facts.number(id) for id in ("gpu_total_gib", "gpu_free_gib", "tried_alloc_gib"))
    if total is None or free is None or asked is None or (foreign_gib(facts) or 0.0) > TENANT:
        return False
    needs = gpu_phases(replace(plan, failed_row=row), (phase,))[0].bytes
    return needs >= from_gib(total - free + asked)
