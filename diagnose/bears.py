"""Whether a fact that nobody tells can move a phase at all, so that the phase's figure rests on a guess of it."""

from __future__ import annotations

from collections.abc import Mapping

from diagnose.vocabulary import Value, is_number

_WITH_BACKWARD = ("critic", "actor_update")
_OF_ENGINE = ("init", "weight_sync", "rollout", "eval")


def bears_on(id: str, phase: str, values: Mapping[str, Value]) -> bool:
    """Recomputation acts where layers wait for a backward pass, an engine's share of the card where it is awake."""
    if id == "gradient_checkpointing":
        return phase in _WITH_BACKWARD
    if id == "gpu_memory_utilization":
        level = values.get("sleep_level")
        return phase in _OF_ENGINE or not (is_number(level) and level >= 1)
    return True
