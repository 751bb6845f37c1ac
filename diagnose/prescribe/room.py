"""An engine that found no room for its cache: the smallest step of a lever that leaves room for one longest sequence."""

from __future__ import annotations

from collections.abc import Iterable

from diagnose.estimate import cache_room, estimate_pool, plan_of
from diagnose.knowledge.records import Lever
from diagnose.prescribe.measure import crowded
from diagnose.prescribe.outcome import Refusal, Trial
from diagnose.prescribe.situation import Situation
from diagnose.prescribe.writing import Written
from diagnose.types import CacheRoom, PhaseEstimate, PoolEstimate
from diagnose.units import gib

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
_NOTHING = "It leaves the engine's cache no more room than it has."


def try_for_room(lever: Lever, situation: Situation, written: Iterable[Written]) -> Trial | Refusal | None:
    """The first step with room enough, else the one that lacks least; None where no step changes what the room is reckoned from."""
    before, best, full = situation.room, None, None
    if before is None:
        return None
    for made in written:
        plan = plan_of(made.facts, situation.fallback)
        after = cache_room(plan)
        if after is None or _lacks(after) >= _lacks(before):
            continue
        if over := _newly_over(situation.before.gpu, estimate_pool(plan, "gpu").gpu):
            full = Refusal("elsewhere", crowded(over, "gpu"))
            continue
        best = Trial(lever, made.facts, made.changes, verdict=_verdict(after), room=(before, after))
        if after.enough:
            return best
    if best and best.room and best.room[1].left <= 0:
        return Refusal("no_gain", f"The engine would still lack {gib(-best.room[1].left)} GiB before any cache.")
    if best or full:
        return best or full
    return Refusal("no_gain", _NOTHING) if lever.changes[0].fact in _RECKONED else None


def _newly_over(before: PoolEstimate | None, after: PoolEstimate | None) -> PhaseEstimate | None:
    """A phase that had room and has none any more."""
    if before is None or after is None or after.limit is None:
        return None
    was = {phase.phase: phase.bytes for phase in before.phases}
    return next((phase for phase in after.phases if was.get(phase.phase, 0) <= after.limit < phase.bytes), None)


def _lacks(room: CacheRoom) -> int:
    """Bytes between what is left and one longest sequence."""
    return room.row - room.left


def _verdict(room: CacheRoom) -> str:
    if room.enough:
        return "fits"
    return "out" if room.left < room.row else "close"
