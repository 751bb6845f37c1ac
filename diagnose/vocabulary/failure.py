"""Kinds of failure, pools, phases, algorithms."""

from __future__ import annotations

from typing import Literal, TypeGuard

Value = bool | int | float | str
Origin = Literal["read", "answered", "default", "assumed", "derived"]
Pool = Literal["gpu", "host"]
# The other memory than the one that a change is meant for.
OTHER_POOL: dict[Pool, Pool] = {"gpu": "host", "host": "gpu"}
# What an estimate says of a limit, the better word first; without a limit it says nothing.
VERDICTS = ("unknown", "fits", "close", "out")


def is_number(value: Value | None) -> TypeGuard[int | float]:
    """Whether a value is a number: Python counts True and False among the whole ones."""
    return type(value) in (int, float)


KINDS = {
    "gpu_oom": "GPU memory",
    "gpu_oom_raw": "GPU memory, refused by the driver or a library",
    "vllm_no_kv_blocks": "no room for the engine's KV cache",
    "vllm_free_memory_too_low": "too little free GPU memory when the engine starts",
    "host_ram": "host RAM",
    "host_shm": "shared memory",
    "memory_growth": "memory grows over steps",
    "other": "not settled",
}

# an engine whose share of the card leaves its cache nothing
NO_CACHE = "vllm_no_kv_blocks"
# both kinds of an engine that does not start
OF_ENGINE_START = (NO_CACHE, "vllm_free_memory_too_low")

# Where the kinds that settle the phase fail.
PHASE_OF_KIND = dict.fromkeys(OF_ENGINE_START, "init")

# Which pool a kind is about; the kinds that are missing here do not settle it.
POOL_OF_KIND: dict[str, Pool] = {
    "gpu_oom": "gpu",
    "gpu_oom_raw": "gpu",
    "vllm_no_kv_blocks": "gpu",
    "vllm_free_memory_too_low": "gpu",
    "host_ram": "host",
    "host_shm": "host",
}

# In the order of a step. "once" phases stand first, "sometimes" last.
PHASES = {
    "load": "load",
    "init": "engine start",
    "weight_sync": "weight sync",
    "rollout": "rollout",
    "logprob": "old log-prob",
    "ref_logprob": "reference log-prob",
    "values": "values pass",
    "reward": "reward",
    "critic": "critic update",
    "actor_update": "actor update",
    "optimizer_step": "optimizer step",
    "checkpoint": "checkpoint",
    "eval": "evaluation",
}
PHASE_GROUPS = {
    "load": "once",
    "init": "once",
    "checkpoint": "sometimes",
    "eval": "sometimes",
}  # the others: every step

# In these a rank computes and puts nothing on the host.
OF_CARDS = ("rollout", "logprob", "ref_logprob", "values", "critic", "actor_update", "optimizer_step")

ONLINE_ALGOS = (
    "grpo",
    "ppo",
    "dapo",
    "rloo",
    "reinforce++",
    "remax",
    "gspo",
    "dr_grpo",
    "gpg",
    "opo",
    "otb",
    "gigpo",
    "sapo",
    "cispo",
    "maxrl",
    "reinforce",
    "online_dpo",
)

# and those that sample nothing, by the heads of their names
OFFLINE_ALGOS = (
    "sft",
    "pretrain",
    "pt",
    "dpo",
    "kto",
    "orpo",
    "cpo",
    "simpo",
    "rm",
    "gkd",
    "spin",
    "embedding",
    "reranker",
    "seq_cls",
)
