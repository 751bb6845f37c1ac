"""An engine that found no room for its cache, or too little of the card free: the smallest step of a lever that leaves room for one
longest sequence, and the smallest share that does so within what is free."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterable
from dataclasses import replace

from diagnose.estimate import cache_room, estimate_pool, plan_of
from diagnose.estimate.rows import row_limit
from diagnose.knowledge.records import Lever
from diagnose.prescribe.full_cards import start_full
from diagnose.prescribe.measure import crowded, driven_over, had_none
from diagnose.prescribe.outcome import Refusal, Trial
from diagnose.prescribe.situation import Situation
from diagnose.prescribe.writing import Written
from diagnose.types import CacheRoom, Fact, PhaseEstimate, PoolEstimate
from diagnose.units import gib
from diagnose.vocabulary import NO_CACHE, PHASES

# what the room is reckoned from and nothing else of a start depends on
_RECKONED = (
    "gpu_memory_utilization",
    "max_model_len",
    "max_num_batched_tokens",
    "max_num_seqs",
    "prompt_length",
    "response_length",
    "rollout_tp",
)
_TOO_LITTLE_FREE = "vllm_free_memory_too_low"
_NOTHING = "It leaves the engine's cache no more room than it has."


def try_for_room(lever: Lever, situation: Situation, written: Iterable[Written]) -> Trial | Refusal | None:
    """The first step with room enough, else the one that lacks least; None where no step changes what the room is reckoned from."""
    before, best, full = situation.room, None, None
    if before is None:
        return None
    # a message without a figure says that nothing is left: then a shorter sequence is no help
    nothing = before.shown is None and situation.facts.values.get("oom_kind") == NO_CACHE
    for made in written:
        after = _as_shown(cache_room(made.plan, unseen=before.unseen, card=before.card), before)
        if after is None or _lacks(after) >= _lacks(before):
            continue
        changed = estimate_pool(made.plan, "gpu").gpu
        over = tuple(driven_over(situation.before.gpu, changed))
        if none := _no_room(changed, over, situation):
            full = none
            continue
        worse = next(iter(over), None)
        best = Trial(lever, made.facts, made.changes, verdict=_verdict(after), room=(before, after), worsens=worse)
        if _as_printed(made):
            return replace(best, verdict="fits")
        if after.enough and not (nothing and after.left <= before.left):
            return best
    if best and best.room and best.room[1].rest <= 0:
        return Refusal("no_gain", f"The engine would still lack {gib(-best.room[1].rest)} GiB before any cache.")
    if nothing and best and best.room and best.room[1].left <= before.left:
        return Refusal("no_gain", _NOTHING)
    if best or full:
        return best or full
    return Refusal("no_gain", _NOTHING) if _is_reckoned(lever.changes[0].fact, situation) else None


def _no_room(changed: PoolEstimate | None, over: tuple[PhaseEstimate, ...], situation: Situation) -> Refusal | None:
    """Why a step is none: a phase that had room has none then, or engine and trainer surely fill the card at the start that failed."""
    if start_full(changed, situation.facts, situation.room):
        return Refusal("no_gain", f"The {PHASES['init']} takes more than the card has with it as without it.")
    newly = next((one for one in over if not had_none(situation.before.gpu, one.phase)), None)
    return Refusal("elsewhere", crowded(newly, "gpu")) if newly else None


def share_within(lever: Lever, situation: Situation) -> float | Refusal | None:
    """A share with room for one longest sequence, where a message prints what was free at the start: the first step that is within it
    and holds that, else the smallest in hundredths.

    Why there is none where what is free does not hold that; None where no such message is there, or the room cannot be reckoned.
    """
    facts, change = situation.facts, lever.changes[0]
    ids = ("gpu_free_gib", "gpu_total_gib", "gpu_memory_utilization")
    free, total, now = (facts.number(id) for id in ids)
    down = change.fact == "gpu_memory_utilization" and change.op == "step" and float(change.by or 0) < 0
    if not down or facts.values.get("oom_kind") != _TOO_LITTLE_FREE or not free or not total or not now:
        return None
    most = math.floor(100 * free / total)
    room = _at_share(most, situation) if most < 100 * now else None
    if room is None:
        return None
    if most < 1 or room.rest < room.row:
        needs = gib(room.weights + room.work + room.row)
        held = f"its weights, its largest step and one longest sequence take about {needs}"
        return Refusal("no_gain", f"Only {free:.1f} GiB are free, and {held} by the estimate: no share is enough.")
    shares = range(1, most + 1)
    least = shares[bisect(shares, False, hi=most - 1, key=lambda share: _is_enough(_at_share(share, situation)))]
    step = round(-100 * float(change.by or 0))
    return next((one for one in range(round(100 * now) - step, least - 1, -step) if one <= most), least) / 100


def _at_share(hundredths: int, situation: Situation) -> CacheRoom | None:
    """The room at a share; a length that nobody set counts as the run's rows, since it can be set as well."""
    share = Fact("gpu_memory_utilization", hundredths / 100, "answered")
    facts = situation.facts.with_fact(share)
    if (plan := plan_of(facts, situation.fallback)) and "max_model_len" in plan.defaults:
        rows = Fact("max_model_len", sum(filter(None, row_limit(plan))) or 1, "answered")
        plan = plan_of(facts.with_fact(rows), situation.fallback)
    return cache_room(plan)


def _is_enough(room: CacheRoom | None) -> bool:
    return room is not None and room.enough


def _is_reckoned(fact: str, situation: Situation) -> bool:
    """Whether it is known what the fact does to the room: of graphs only where it is known which engine, in which version, counts them."""
    values = situation.facts.values
    graphs = "engine_version" in values or values.get("rollout_engine") not in (None, "vllm")
    return fact in _RECKONED or (fact == "enforce_eager" and graphs)


def _as_printed(made: Written) -> bool:
    """Whether the length limit is now one that the message itself says to fit."""
    limit, fits = made.facts.number("max_model_len"), made.facts.number("fitting_length")
    return limit is not None and fits is not None and limit <= fits


def _as_shown(after: CacheRoom | None, before: CacheRoom) -> CacheRoom | None:
    """The room after a change, from what the log showed before it."""
    if after is None or before.shown is None:
        return after
    return replace(after, shown=before.shown + after.left - before.left)


def _lacks(room: CacheRoom) -> int:
    """Bytes between what is left and one longest sequence."""
    return room.row - room.rest


def _verdict(room: CacheRoom) -> str:
    if room.enough:
        return "fits"
    return "out" if room.rest < room.row else "close"
