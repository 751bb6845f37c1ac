"""Real lengths: what is taken where they are unknown, and at which length a phase reaches a limit."""

from __future__ import annotations

from dataclasses import replace

from diagnose.batch import rows_met
from diagnose.estimate.phases import gpu_phases
from diagnose.estimate.plan import Plan, plan_of
from diagnose.estimate.rows import MEAN_SHARE, limited_by_default, real_row, row_limit, untold_prompt
from diagnose.estimate.shown import images_shown, most_shown
from diagnose.estimate.term import Band
from diagnose.estimate.tokens import rows_drawn, take
from diagnose.knowledge.records import Framework
from diagnose.types import Fact, Facts

_WHY = "taken as {share:.0%} of the limit on average, nearer to it the fewer rows a pass has"
_WHY_AT_LIMIT = "taken at the limit: a pass has so few rows that all of them may be that long"
_WHY_USUAL = "taken as {usual}, the more above it the fewer rows a pass has"
_WHY_OF_STEPS = (
    "taken as what the longest of {met:,} rows measures, as many as the steps take, and no more than the limit"
)
_WHY_FAILED = "taken from the size that was asked for, which only the logits of the pass can have"
_WHY_UNTOLD = "taken as the mean prompt of half of the public data sets of prompts, since no key limits it"
_WHY_BY_DEFAULT = "taken from half of the public data sets of prompts, the longer the fewer rows a pass has, since only a default limits it"
_WHY_OF_DATA = (
    "taken between what half of the public data sets reach and the limit, nearer to the limit the fewer rows a pass has"
)


def assumed_lengths(facts: Facts, fallback: Framework | None = None) -> tuple[Fact, ...]:
    """The real lengths in tokens that the estimate takes for this run because nothing states them.

    None where they do not matter: rows padded to their limit, or packed to a budget.
    """
    plan = plan_of(facts, fallback)
    if plan is None or plan.serves:
        return ()
    limits = row_limit(plan)
    if None in limits:
        return ()
    one = take(plan, "update")
    if one.tokens.exact:
        return ()
    real = real_row(plan, rows_drawn(plan, one.rows))
    untold = _untold_prompt(plan, limits[0], real[0])
    if "real_response_length" not in one.moved_by:  # padded to its limit
        return untold
    met = rows_met(plan.values)
    of_data = _WHY_OF_STEPS.format(met=met) if met and met > 1 else _WHY_OF_DATA
    why = _WHY.format(share=MEAN_SHARE) if plan.online else of_data
    ids = ("real_prompt_length", "real_response_length")
    usual = facts.stated.get("usual_response_length")
    of_prompt = _WHY_BY_DEFAULT if plan.online and limited_by_default(plan) else why
    whys = (of_prompt, _WHY_FAILED if plan.failed_row else _WHY_USUAL.format(usual=usual.why) if usual else why)
    return (
        tuple(
            Fact(id, round(length.mid), "assumed", why=_WHY_AT_LIMIT if plan.online and length.mid >= limit else why)
            for id, length, limit, why in zip(ids, real, limits, whys, strict=True)
            if limit and (id not in plan.values or id in plan.assumed)
        )
        + untold
    )


def _untold_prompt(plan: Plan, limit: int | None, length: Band) -> tuple[Fact, ...]:
    """What is taken for a prompt that nothing limits."""
    if limit or not plan.online or untold_prompt(plan).exact:
        return ()
    return (Fact("real_prompt_length", round(length.mid), "assumed", why=_WHY_UNTOLD + _of_images(plan)),)


def _of_images(plan: Plan) -> str:
    """What of the images of a prompt is counted, in the words behind what is taken for its text."""
    if most_shown(plan):
        return ", with its images at the limit of their pixels"
    return ", without images, of which nothing tells" if images_shown(plan).high else ""


def turning_length(facts: Facts, limit_bytes: int, phase: str, fallback: Framework | None = None) -> int | None:
    """The real response length in tokens, to 1/64 of the limit, from which ``phase`` needs more than ``limit_bytes`` on a GPU.

    None when it does not at any length within the response limit, or when the phase or the limit is unknown; 1 when it always does.
    """
    plan = plan_of(facts, fallback)
    longest = row_limit(plan)[1] if plan else None
    if not longest or plan is None or phase not in plan.phases:
        return None
    low, high = 1, longest
    if _peak(plan, high, phase) <= limit_bytes:
        return None
    while high - low > max(1, longest // 64):
        middle = (low + high) // 2
        if _peak(plan, middle, phase) > limit_bytes:
            high = middle
        else:
            low = middle
    return low if low == 1 and _peak(plan, low, phase) > limit_bytes else high


def _peak(plan: Plan, length: int, phase: str) -> int:
    """Bytes of the phase at a real response length: nothing of the plan but that value hangs on it."""
    id = "real_response_length"
    at = replace(plan, values={**plan.values, id: length}, assumed=plan.assumed - {id})
    return gpu_phases(at, (phase,))[0].bytes
