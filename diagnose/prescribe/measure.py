"""What one step of a lever saves in the failing phase of the failing pool, and what it costs in other phases and in the other pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from diagnose.estimate import cache_room, estimate_pool
from diagnose.knowledge.records import Lever
from diagnose.prescribe.outcome import POOL_WORDS, Refusal, Trial
from diagnose.prescribe.situation import LEAST_GAIN, Situation, verdict, watched
from diagnose.prescribe.writing import Written
from diagnose.types import Estimate, PhaseEstimate, PoolEstimate
from diagnose.units import from_gib, gib
from diagnose.vocabulary import OTHER_POOL, PHASES, Pool


def measure(lever: Lever, situation: Situation, made: Written) -> Trial | Refusal:
    """The step on the estimate: a trial with its figures, or why it is no help."""
    before, pool = situation.failing, situation.pool
    assert before is not None
    assert pool is not None
    plan = made.plan
    changed = estimate_pool(plan, pool)
    after = situation.watched(changed)
    gone = after is None and situation.phase is not None
    if gone:  # the failing phase is no more: the highest of the others counts
        after = watched(changed, pool, None)
    if after is None:
        return Refusal("no_gain", "With it, the memory can no longer be computed.")
    if before.bytes - after.bytes < before.bytes * LEAST_GAIN or after.shown == before.shown:
        return _no_gain(situation, changed)
    full = _pushed_over(situation.before.pool(pool), changed.pool(pool), after) or engine_starves(
        situation, changed, made
    )
    if full:
        return Refusal("elsewhere", crowded(full, pool), shifts=True)
    phase = situation.phase or (after.phase if situation.possible else None)
    word = situation.measured_verdict(after) or verdict(changed, pool, None if gone else phase)
    room = cache_room(plan) if plan and plan.serves and word == "fits" else None
    trial = Trial(lever, made.facts, made.changes, after, room.verdict if room else word)
    return _with_other_pool(trial, situation, OTHER_POOL[pool], estimate_pool(plan, OTHER_POOL[pool]))


def driven_over(before: PoolEstimate | None, after: PoolEstimate | None) -> Iterator[PhaseEstimate]:
    """The phases, as they are with a change, that take more bytes than before and too many."""
    if before is None or after is None or after.limit is None:
        return
    for phase in after.phases:
        was = before.phase(phase.phase)
        if phase.bytes > after.limit and (was is None or phase.bytes > was.bytes * (1 + LEAST_GAIN)):
            yield phase


def _pushed_over(
    before: PoolEstimate | None, after: PoolEstimate | None, failing: PhaseEstimate
) -> PhaseEstimate | None:
    """A phase that a change drives over the limit, but one in whose stead the ``failing`` one still takes more.

    What had no room anyway is driven nowhere while it stays below what was the worst.
    """
    for phase in driven_over(before, after):
        worse = before is not None and had_none(before, phase.phase) and phase.bytes < before.peak.bytes
        if not worse and phase.bytes >= failing.bytes:
            return phase
    return None


def had_none(pool: PoolEstimate | None, phase: str) -> bool:
    """Whether a phase had no room as it was."""
    was = pool.phase(phase) if pool else None
    return bool(was and pool and pool.limit is not None and was.bytes > pool.limit)


def lowers(situation: Situation, made: Written) -> bool:
    """Whether the failing phase takes less with the step, whatever the other phases then take: most steps are told by that alone."""
    before, pool = situation.failing, situation.pool
    assert before is not None
    assert pool is not None
    changed = estimate_pool(made.plan, pool, before.phase).pool(pool)
    after = changed.phase(before.phase) if changed else None
    return after is None or before.bytes - after.bytes >= before.bytes * LEAST_GAIN


def takes(situation: Situation, made: Written) -> int | None:
    """Bytes of the failing phase after the step; None where it cannot be computed, or is no more."""
    assert situation.pool is not None
    changed = estimate_pool(made.plan, situation.pool, situation.phase)
    after = situation.watched(changed)
    return after.bytes if after else None


def _no_gain(situation: Situation, changed: Estimate) -> Refusal:
    """Names the phase that it would lower instead, when there is one."""
    pool = situation.pool
    before, after = situation.before.pool(pool), changed.pool(pool)  # type: ignore[arg-type]
    failing = situation.failing
    assert failing is not None
    lowered = [
        (was.bytes - now.bytes, was)
        for was in (before.phases if before else ())
        if (now := after.phase(was.phase) if after else None) and was.bytes - now.bytes >= was.bytes * LEAST_GAIN
    ]
    held = f"The {_phase(failing)} needs {failing.shown} GiB {_beside(failing, situation.watched(changed))}."
    if not lowered:
        return Refusal("no_gain", held)
    saved, where = max(lowered, key=lambda pair: pair[0])
    if after and any(was.phase == failing.phase for _, was in lowered):
        # the failing phase was the highest, and the next one is as high
        saved = next(saved for saved, was in lowered if was.phase == failing.phase)
        then = f"then the {_phase(after.peak)} needs {after.peak.shown} GiB"
        return Refusal("no_gain", f"It takes {gib(saved)} GiB from the {_phase(failing)}; {then}.")
    if situation.phase:
        other = "is not what runs out"
    elif situation.possible and where.phase not in situation.possible:
        other = "is not where it can have failed"
    elif before and failing.phase != before.peak.phase:
        other = "has room"
    else:
        other = "is not the highest phase by the estimate"
    return Refusal("elsewhere", f"It takes {gib(saved)} GiB from the {_phase(where)}, which {other}. {held}")


def _beside(failing: PhaseEstimate, changed: PhaseEstimate | None) -> str:
    """A gain too small to advise is not told as none."""
    differs = changed is not None and changed.phase == failing.phase and changed.shown != failing.shown
    return f"as it is and {changed.shown} with it" if changed and differs else "with it or without"


def engine_starves(situation: Situation, changed: Estimate, made: Written) -> PhaseEstimate | None:
    """A smaller engine share that leaves the KV cache nothing: the engine would refuse to start."""
    if not any(change.fact == "gpu_memory_utilization" for change in made.changes):
        return None
    rollout = changed.gpu.phase("rollout") if changed.gpu else None
    pool = next((term for term in rollout.terms if term.id == "kv_pool"), None) if rollout else None
    had = situation.before.gpu.phase("rollout") if situation.before.gpu else None
    was = next((term for term in had.terms if term.id == "kv_pool"), None) if had else None
    return rollout if was and was.bytes and (pool is None or pool.bytes <= was.bytes * LEAST_GAIN) else None


def crowded(phase: PhaseEstimate, pool: Pool) -> str:
    """Why a change is no help that drives another phase over the limit."""
    return f"The {_phase(phase)} would run out of {POOL_WORDS[pool]} instead, or leave the engine no cache."


def _with_other_pool(trial: Trial, situation: Situation, other: Pool, changed: Estimate) -> Trial | Refusal:
    """The bytes that moved to the other pool; a lever that only shifts the failure there is refused."""
    moved = moved_peaks(situation.before, changed, other)
    if moved is None:
        return trial
    was, now = moved
    word = now.verdict() if now.peak.bytes > was.peak.bytes else ""
    beyond = _on_no_size(situation, other, now) if word == "unknown" else ""
    if word == "out" or beyond:
        figures = f"{now.peak.shown} GiB" + (f" of {gib(now.limit)}" if now.limit else beyond)
        why = f"Then {POOL_WORDS[other]} runs out: the {_phase(now.peak)} needs {figures}."
        return Refusal("elsewhere", why, shifts=True)
    return replace(trial, other_pool=(was.peak, now.peak), other_verdict=word)


def _on_no_size(situation: Situation, pool: Pool, now: PoolEstimate) -> str:
    """What the largest of the named card has, where nobody tells which of its sizes and not even that one would do; else nothing."""
    card = situation.facts.gpu
    if pool != "gpu" or card is None or now.peak.low <= from_gib(card.most_gib):
        return ""
    return f", and the largest {card.title} has {gib(from_gib(card.most_gib))}"


def _phase(phase: PhaseEstimate) -> str:
    return PHASES.get(phase.phase, phase.phase)


def moved_peaks(before: Estimate, after: Estimate, pool: Pool) -> tuple[PoolEstimate, PoolEstimate] | None:
    """A pool before and after a change that moves its peak; None where it does not, or one of both is not known."""
    was, now = before.pool(pool), after.pool(pool)
    if was is None or now is None or not was.phases or not now.phases or was.peak.bytes == now.peak.bytes:
        return None
    return was, now
