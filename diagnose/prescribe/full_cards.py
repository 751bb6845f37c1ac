"""Cards on which no share helps an engine: those that a server has in common with the trainer, and one that both fill before any cache."""

from __future__ import annotations

from diagnose.types import CacheRoom, Facts, PoolEstimate

_TOO_LITTLE_FREE = "vllm_free_memory_too_low"


def server_among(kind: str | None, facts: Facts) -> bool | None:
    """True where a server finds too little free beside a trainer that takes as many cards as the text counts."""
    cards, trains = facts.number("n_gpus"), facts.number("trainer_gpus")
    told = "n_gpus" in facts.stated and facts.stated["n_gpus"].origin == "read" and facts.certain("trainer_gpus")
    if kind != _TOO_LITTLE_FREE or facts.values.get("rollout_mode") != "server" or not (told and cards and trains):
        return None
    return True if trains >= cards else None


def start_full(gpu: PoolEstimate | None, facts: Facts, room: CacheRoom | None) -> bool:
    """Whether engine and trainer surely take more than a card at the start, where the engine has found no room for its cache.

    Not where the log shows what that start left, which outranks the estimate; where part of it is a critic that only a trainer's default
    says is there; nor of an engine with cards of its own.
    """
    if room is not None and room.shown is not None:
        return False
    start = gpu.phase("init") if gpu and facts.values.get("rollout_mode") == "colocated" else None
    supposed = facts.flag("has_critic") is True and not facts.certain("has_critic") and not facts.certain("algo")
    return bool(start and gpu and gpu.limit is not None and start.low > gpu.limit and not supposed)
