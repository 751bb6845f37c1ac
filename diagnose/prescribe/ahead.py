"""What would run out next: a phase that comes after the one that failed, of which the failure itself shows nothing yet, or one of the
next step, when Adam has a state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from diagnose.estimate import estimate
from diagnose.knowledge.records import Lever
from diagnose.outlived import late_state, went_through
from diagnose.prescribe.outcome import Trial
from diagnose.prescribe.situation import Situation
from diagnose.prescribe.together import together
from diagnose.types import Ahead, Facts, PhaseEstimate, PoolEstimate
from diagnose.vocabulary import FACTS, PHASE_GROUPS
from diagnose.words.untold import on_defaults

_BATCHES = (
    "train_batch_size",
    "mini_batch_size",
    "micro_batch",
    "micro_tokens",
    "logprob_micro_batch",
    "logprob_tokens",
)


def ahead(situation: Situation, first: Trial | None, levers: Iterable[Lever]) -> Ahead | None:
    """The next phase that surely has no room on the cards, with the ``first`` change made; None where none is known to have none.

    It says nothing of a run whose steps went through, whose failing phase nobody knows, or whose settings nobody told.
    """
    if first is None or not _speaks(situation):
        return None
    then = estimate(first.facts, situation.fallback)
    if then.gpu is None or then.gpu.limit is None:
        return None
    this_step = _later(then.gpu, situation.phase)
    over = this_step or _in_next_step(then.gpu, then.gpu.limit, first.facts, situation.phase)
    if over is None:
        return None
    run = replace(situation, facts=first.facts, before=then, kind=None, phase=None, pool="gpu")
    return Ahead(over, then.gpu.limit, together(run, levers, fewest=1), next_step=this_step is None)


def _speaks(situation: Situation) -> bool:
    if situation.phase is None or situation.pool == "host" or situation.before.guessed("gpu"):
        return False
    return not went_through(situation.facts) and not on_defaults(situation.facts) and _told_of_training(situation.facts)


def _told_of_training(facts: Facts) -> bool:
    """Whether a batch or a memory setting of the trainer was told: settings of the engine say nothing of what a later phase takes."""
    told = (id for id, fact in facts.stated.items() if fact.origin in ("read", "answered"))
    return any(id in _BATCHES or FACTS[id].group == "memory" for id in told)


def _later(pool: PoolEstimate, failed: str | None) -> PhaseEstimate | None:
    _, later = _around(pool, failed)
    out = (one for one in later if pool.verdict(one) == "out" and PHASE_GROUPS.get(one.phase) != "sometimes")
    return next(out, None)


def _in_next_step(pool: PoolEstimate, limit: int, facts: Facts, failed: str | None) -> PhaseEstimate | None:
    """The first phase that the run came through while Adam had no state, and that has no room beside it."""
    earlier, _ = _around(pool, failed)
    out = (one for one in earlier if one.phase not in PHASE_GROUPS and pool.verdict(one) == "out")
    return next((one for one in out if one.low - late_state(facts, one) <= limit), None)


def _around(pool: PoolEstimate, failed: str | None) -> tuple[Sequence[PhaseEstimate], Sequence[PhaseEstimate]]:
    """The phases of a step before the one that failed, and those behind it; none where it is no phase of this run."""
    order = [phase.phase for phase in pool.phases]
    at = order.index(failed) if failed in order else None
    return ((), ()) if at is None else (pool.phases[:at], pool.phases[at + 1 :])
