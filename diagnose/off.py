"""Settings of a feature that the run does not use: a log that prints its whole configuration names hundreds of them."""

from __future__ import annotations

from diagnose.knowledge.hardware import Model
from diagnose.types import Facts
from diagnose.vocabulary import OFFLINE_ALGOS

# a number that says that the feature is not used
_NONE = {"frozen_share": 0, "drawn_layers": 0, "lora_rank": 0, "mlp_parts": 1}
_OF_ADAPTERS = ("lora_rank", "lora_layers", "adapter_dropout", "engine_lora", "engine_lora_rank", "layered_summon")
_OF_PROJECTIONS = ("galore", "apollo")
_RANKS = ("rollout_ep", "ep", "etp")  # that share experts
_OF_ENGINE = (
    *(
        "gpu_memory_utilization",
        "rollout_tp",
        "rollout_pp",
        "rollout_ep",
        "sleep_level",
        "enforce_eager",
        "engine_lora",
    ),
    *("engine_lora_rank", "max_num_seqs", "max_num_batched_tokens", "max_model_len", "kv_cache_dtype", "rollout_mode"),
)
# of pairs an answer has a limit of its own
_OF_ROWS = ("sft", "pretrain", "pt")
# of these a student or a model may write answers as it learns
_WRITES = ("gkd", "spin")


def off(facts: Facts) -> frozenset[str]:
    """The facts that were read and say nothing of this run. What a person answers always says something."""
    values, found = facts.values, {id for id, none in _NONE.items() if facts.number(id) == none}
    if values.get("full_or_lora") == "full":
        found.update(_OF_ADAPTERS)
    if values.get("quantization", "none") == "none" and values.get("full_or_lora") in ("full", "lora"):
        found.add("double_quant")
    if not any(word in str(values.get("optimizer", "")).lower() for word in _OF_PROJECTIONS):
        found.add("optimizer_rank")
    if values.get("has_critic") is False:
        found.update(id for id in facts.stated if id.startswith("critic_"))
    found.update(_of_model(facts.model, facts) if facts.model else ())
    if values.get("trains") is not False and values.get("rollout_engine", "hf") == "hf":
        found.update(_without_engine(facts))
    return frozenset(id for id in found if id in facts.stated and facts.stated[id].origin == "read")


def _of_model(model: Model, facts: Facts) -> set[str]:
    """What only a model with a vision tower, or with experts, has."""
    found = set() if model.vision else {"freeze_vision"}
    return found if model.moe else found | {"router_loss"} | {id for id in _RANKS if facts.values.get(id) == 1}


def _without_engine(facts: Facts) -> set[str]:
    """What only an engine has; where no answer is written at all, what only answers have."""
    algo = facts.values.get("algo")
    if algo not in OFFLINE_ALGOS or algo in _WRITES:
        return set(_OF_ENGINE) if "rollout_engine" in facts.stated else set()
    return {*_OF_ENGINE, "rollout_n", *(("response_length",) if algo in _OF_ROWS else ())}
