"""An engine that found no room for its cache: the smallest step of a lever that leaves room for one longest sequence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from diagnose.estimate import cache_room, estimate_pool
from diagnose.knowledge.records import Lever
from diagnose.prescribe.measure import crowded
from diagnose.prescribe.outcome import Refusal, Trial
from diagnose.prescribe.situation import Situation
from diagnose.prescribe.writing import Written
from diagnose.types import CacheRoom, PhaseEstimate, PoolEstimate
from diagnose.units import gib
from diagnose.vocabulary import NO_CACHE

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
    # a message without a figure says that nothing is left: then a shorter sequence is no help
    nothing = before.shown is None and situation.facts.values.get("oom_kind") == NO_CACHE
    for made in written:
        after = _as_shown(cache_room(made.plan), before)
        if after is None or _lacks(after) >= _lacks(before):
            continue
        if over := _newly_over(situation.before.gpu, estimate_pool(made.plan, "gpu").gpu):
            full = Refusal("elsewhere", crowded(over, "gpu"))
            continue
        best = Trial(lever, made.facts, made.changes, verdict=_verdict(after), room=(before, after))
        if after.enough and not (nothing and after.left <= before.left):
            return best
    if best and best.room and best.room[1].rest <= 0:
        return Refusal("no_gain", f"The engine would still lack {gib(-best.room[1].rest)} GiB before any cache.")
    if nothing and best and best.room and best.room[1].left <= before.left:
        return Refusal("no_gain", _NOTHING)
    if best or full:
        return best or full
    return Refusal("no_gain", _NOTHING) if _is_reckoned(lever.changes[0].fact, situation) else None


def _is_reckoned(fact: str, situation: Situation) -> bool:
    """Whether it is known what the fact does to the room: of graphs only where it is known which engine, in which version, counts them."""
    values = situation.facts.values
    graphs = "engine_version" in values or values.get("rollout_engine") not in (None, "vllm")
    return fact in _RECKONED or (fact == "enforce_eager" and graphs)


def _as_shown(after: CacheRoom | None, before: CacheRoom) -> CacheRoom | None:
    """The room after a change, from what the log showed before it."""
    if after is None or before.shown is None:
        return after
    return replace(after, shown=before.shown + after.left - before.left)


def _newly_over(before: PoolEstimate | None, after: PoolEstimate | None) -> PhaseEstimate | None:
    """A phase that had room and has none any more."""
    if before is None or after is None or after.limit is None:
        return None
    was = {phase.phase: phase.bytes for phase in before.phases}
    return next((phase for phase in after.phases if was.get(phase.phase, 0) <= after.limit < phase.bytes), None)


def _lacks(room: CacheRoom) -> int:
    """Bytes between what is left and one longest sequence."""
    return room.row - room.rest


def _verdict(room: CacheRoom) -> str:
    if room.enough:
        return "fits"
    return "out" if room.rest < room.row else "close"
