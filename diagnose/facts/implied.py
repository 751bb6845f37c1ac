"""That a run has an engine, from what is said of it."""

from __future__ import annotations

from collections.abc import Mapping

from diagnose.types import Fact
from diagnose.vocabulary import OF_ENGINE_START, ONLINE_ALGOS


def engine_told(facts: Mapping[str, Fact]) -> Fact | None:
    """vLLM, where a run that by default has no engine and is not pasted whole is told to have one by what is said of it."""
    engine, certain = facts.get("rollout_engine"), {id: fact.value for id, fact in facts.items() if fact.certain}
    offline = "algo" in certain and certain["algo"] not in ONLINE_ALGOS
    if engine is None or engine.origin != "default" or engine.value != "hf" or offline:
        return None
    if "gpu_memory_utilization" in certain:
        return Fact("rollout_engine", "vllm", "derived", why="a share of the card is set for it")
    if certain.get("oom_kind") in OF_ENGINE_START:
        return Fact("rollout_engine", "vllm", "derived", why="what failed is an engine’s start")
    if (place := facts.get("phase")) and place.origin == "answered" and place.value in ("init", "weight_sync"):
        return Fact("rollout_engine", "vllm", "derived", why="it failed where an engine has a part")
    return None
