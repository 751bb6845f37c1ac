"""What a run has though no key says so, from what is said of it: an engine, a reference model, a critic, cards for a process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from diagnose.batch import whole
from diagnose.types import Fact
from diagnose.vocabulary import OF_ENGINE_START, ONLINE_ALGOS

_OF_SHARE = ("gpu_total_gib", "gpu_free_gib", "process_gib", "gpu_memory_utilization")
# What an engine that is awake holds, of its share: a little less where blocks do not divide it, and its context and graphs beside it.
_AWAKE = (0.95, 1.1)
# GiB that SGLang may hold beside its static share for activations and graphs: judged, not measured
_BESIDE_STATIC = 8.0
# settings by key from which on a critic's would stand among them
_SEVERAL = 2
# The models that a phase has, whatever a trainer has by default.
_MODEL_OF = {"ref_logprob": "has_ref", "critic": "has_critic", "values": "has_critic"}


def implied(
    facts: Mapping[str, Fact], whole_run: bool, of_critic: bool = True, critic_rare: str = ""
) -> Iterator[Fact]:
    """What outranks a trainer's defaults; what is pasted whole has no engine that its command does not start.

    ``of_critic``: something in the text is of a critic, or of the algorithm that has one; ``critic_rare``: why the trainer's runs seldom
    have one.
    """
    if not whole_run and (engine := _engine(facts)):
        yield engine
    if sleeps := _sleeps(facts):
        yield sleeps
    if not whole_run and (packed := _packed(facts)):
        yield packed
    if not (whole_run or of_critic) and (group := _without_critic(facts, critic_rare)):
        yield group
    if model := _model(facts):
        yield model
    if algo := _algo(facts):
        yield algo
    if cards := _cards_of_process(facts):
        yield cards
    if awake := _cache_awake(facts):
        yield awake


def _engine(facts: Mapping[str, Fact]) -> Fact | None:
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


def _sleeps(facts: Mapping[str, Fact]) -> Fact | None:
    """An engine that sleeps, where its own allocator failed, which it has for nothing else.

    (vLLM v0.8.5 v1/worker/gpu_worker.py: load_model, initialize_from_config: CuMemAllocator with enable_sleep_mode alone.)
    """
    maps, level = facts.get("engine_maps_pool"), facts.get("sleep_level")
    if maps is None or maps.value is not True or level is None or level.origin != "default" or level.value != 0:
        return None
    return Fact("sleep_level", 1, "derived", why="its allocator is that of an engine that sleeps")


def _cache_awake(facts: Mapping[str, Fact]) -> Fact | None:
    """An engine's cache that stands while weights go to it, where another process on the card holds what the engine may take awake.

    Weights alone, of an engine that wakes in two steps, are less than that: the rest of its share is its cache.
    """
    values = {id: fact.value for id, fact in facts.items()}
    if "engine_maps_pool" in facts or values.get("phase") != "weight_sync" or values.get("rollout_mode") == "server":
        return None
    total, free, held, share = (values.get(id) for id in _OF_SHARE)
    if not all(isinstance(one, int | float) for one in (total, free, held, share)):
        return None
    others, may = float(total) - float(free) - float(held), float(total) * float(share)  # type: ignore[arg-type]
    most = max(may * _AWAKE[1], may + (_BESIDE_STATIC if values.get("rollout_engine") == "sglang" else 0.0))
    if not may * _AWAKE[0] <= others <= most:
        return None
    return Fact("engine_maps_pool", True, "derived", why="another process holds as much as the engine may take")


def _packed(facts: Mapping[str, Fact]) -> Fact | None:
    """Passes packed by tokens, where of a part of the settings one is a budget of tokens and none a micro batch."""
    packed = facts.get("dynamic_batch")
    told = {id for id in ("micro_tokens", "micro_batch") if id in facts and facts[id].certain}
    if packed is None or packed.origin != "default" or packed.value is not False or told != {"micro_tokens"}:
        return None
    return Fact("dynamic_batch", True, "derived", why="a budget of tokens is set for a pass")


def _without_critic(facts: Mapping[str, Fact], critic_rare: str) -> Fact | None:
    """GRPO, where PPO is a trainer's default alone and nothing that people show is of a critic or a reward model.

    Several settings would hold one of a critic's, and the figures of a step its values; of less the trainer's own runs tell.
    """
    algo = facts.get("algo")
    told = {id: fact for id, fact in facts.items() if fact.certain}
    if algo is None or algo.origin != "default" or algo.value != "ppo":
        return None
    if told.keys() & {"has_reward_model", "reward_model"}:
        return None
    if "has_critic" in told and told["has_critic"].value is False:
        return Fact("algo", "grpo", "assumed", why="the figures of a step hold none of a critic")
    if sum(bool(fact.key) for fact in told.values()) >= _SEVERAL:
        return Fact("algo", "grpo", "assumed", why="none of the settings that are told is of a critic")
    return Fact("algo", "grpo", "assumed", why=critic_rare) if critic_rare else None


def _algo(facts: Mapping[str, Fact]) -> Fact | None:
    """PPO, where a trainer whose default it is failed in a pass of the critic."""
    phase, algo = facts.get("phase"), facts.get("algo")
    if phase is None or not phase.certain or _MODEL_OF.get(str(phase.value)) != "has_critic":
        return None
    if algo is None or algo.origin != "default" or algo.value != "ppo":
        return None
    return Fact("algo", "ppo", "derived", why="it failed in a pass of the critic")


def _cards_of_process(facts: Mapping[str, Fact]) -> Fact | None:
    """All cards of a node, where the layers of a model are laid over what a process sees and no launcher is told to start several.

    Several could not train it so (huggingface/accelerate v1.9.0 accelerator.py: prepare_model raises for a model with a device_map).
    """
    spread, cards = facts.get("layers_spread"), facts.get("n_gpus")
    launched = any(facts[id].key for id in ("n_gpus", "gpus_per_node", "cards_per_process") if id in facts)
    if spread is None or spread.value is not True or cards is None or launched:
        return None
    values = {id: fact.value for id, fact in facts.items()}
    here = max(1, (whole(values, "n_gpus") or 1) // (whole(values, "n_nodes") or 1))
    why = "device_map lays the layers over all cards that a process sees"
    return Fact("cards_per_process", here, "derived", why=why)


def _model(facts: Mapping[str, Fact]) -> Fact | None:
    """The reference or the critic in whose phase the run failed, where a default alone says that there is none."""
    phase, algo = facts.get("phase"), facts.get("algo")
    id = _MODEL_OF.get(str(phase.value)) if phase and phase.certain else None
    if id is None or (id in facts and facts[id].origin != "default"):
        return None
    if id == "has_critic" and algo is not None and algo.certain:
        return None
    return Fact(id, True, "derived", why="it failed in a phase of that model")
