"""What would run out next: a phase that comes after the one that failed, of which the failure itself shows nothing yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from diagnose.estimate import estimate
from diagnose.knowledge.records import Lever
from diagnose.outlived import went_through
from diagnose.prescribe.outcome import Trial
from diagnose.prescribe.situation import Situation
from diagnose.prescribe.together import together
from diagnose.types import Ahead, PhaseEstimate, PoolEstimate
from diagnose.vocabulary import PHASE_GROUPS
from diagnose.words.untold import on_defaults


def ahead(situation: Situation, first: Trial | None, levers: Iterable[Lever]) -> Ahead | None:
    """The next phase that surely has no room on the cards, with the ``first`` change made; None where none is known to have none.

    It says nothing of a run whose steps went through, whose failing phase nobody knows, or whose settings nobody told.
    """
    if first is None or not _speaks(situation):
        return None
    then = estimate(first.facts, situation.fallback)
    over = _later(then.gpu, situation.phase) if then.gpu else None
    if over is None or then.gpu is None or then.gpu.limit is None:
        return None
    run = replace(situation, facts=first.facts, before=then, kind=None, phase=None, pool="gpu")
    return Ahead(over, then.gpu.limit, together(run, levers, fewest=1))


def _speaks(situation: Situation) -> bool:
    if situation.phase is None or situation.pool == "host" or situation.before.guessed("gpu"):
        return False
    return not went_through(situation.facts) and not on_defaults(situation.facts)


def _later(pool: PoolEstimate, failed: str | None) -> PhaseEstimate | None:
    order = [phase.phase for phase in pool.phases]
    later = pool.phases[order.index(failed) + 1 :] if failed in order else ()
    out = (one for one in later if pool.verdict(one) == "out" and PHASE_GROUPS.get(one.phase) != "sometimes")
    return next(out, None)
