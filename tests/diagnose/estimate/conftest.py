"""Small records and facts for the estimate's tests; no file of the catalogue is read."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest

from diagnose.batch import resolve
from diagnose.knowledge.hardware import Gpu, Model, Vision
from diagnose.knowledge.records import Behaviour, Detect, Framework, Resident
from diagnose.types import Fact, Facts

REVIEWED = datetime.date(2026, 1, 1)
STEP = (
    "weight_sync",
    "rollout",
    "logprob",
    "ref_logprob",
    "values",
    "critic",
    "actor_update",
    "optimizer_step",
    "checkpoint",
)
DOES = {
    "weight_bytes": 4,
    "gradient_bytes": 4,
    "optimizer_bytes": 8,
    "ref_bytes": 2,
    "gather": "fsdp_units",
    "logits_forward_bytes": 4,
    "logits_train_bytes": 8,
    "logits_rows": "all",
    "sync_transient": "fsdp_full_tensor",
    "adam_temporaries": "foreach",
    "load_on_gpu": "shard_and_root",
    "load_on_host": "one_rank_fp32",
    "kv_rule": "share_of_total",
    "processes_per_gpu": 1,
    "host_processes_per_gpu": 1,
    "pinned_rounding": "exact",
    "checkpoint_on_host": "whole_fp32",
    "sleep_backup": "yes",
}
UPDATE = ("actor_update", "optimizer_step")


def _resident(what: str, phases: tuple[str, ...], pool: str = "gpu", **when: Any) -> Resident:
    return Resident(what=what, phases=phases, pool=pool, when=when)


RESIDENTS = (
    _resident("actor_weights", ("load", *STEP)),
    _resident("actor_gradients", UPDATE),
    _resident("actor_optimizer", UPDATE),
    _resident("actor_optimizer", tuple(p for p in STEP if p not in UPDATE), optimizer_offload=False),
    _resident("actor_optimizer", tuple(p for p in STEP if p not in UPDATE), "host", optimizer_offload=True),
    _resident("ref_weights", STEP, ref_offload=False),
    _resident("ref_weights", ("ref_logprob",), ref_offload=True),
    _resident("ref_weights", tuple(p for p in STEP if p != "ref_logprob"), "host", ref_offload=True),
    _resident("critic_weights", STEP),
    _resident("critic_optimizer", STEP),
    _resident("critic_gradients", ("critic",)),
    _resident("engine_weights", ("weight_sync", "rollout")),
    _resident("kv_pool", ("rollout",)),
    _resident("engine_graphs", STEP, enforce_eager=False),
)


def framework(residents: tuple[Resident, ...] = RESIDENTS, **does: Any) -> Framework:
    return Framework(
        slug="made-up",
        body="",
        title="Made up",
        reviewed=REVIEWED,
        sources=("https://example.org",),
        detect=Detect(),
        phases=("load", *STEP),
        residents=residents,
        behaviours=(Behaviour(does={**DOES, **does}),),
    )


# config.json of Qwen2.5-7B, https://huggingface.co/Qwen/Qwen2.5-7B
QWEN_7B = Model(
    slug="qwen2.5-7b", body="", title="Qwen2.5-7B", reviewed=REVIEWED, sources=("https://huggingface.co/Qwen/Qwen2.5-7B",),
    hidden=3584, layers=28, heads=28, kv_heads=4, intermediate=18944, vocab=152064, tied=False, published=7_615_616_512,
    params_b=7, max_position=131072, attention_bias=True,
)  # fmt: skip

# config.json of Qwen2.5-VL-7B, the text part as above
QWEN_VL_7B = Model(
    slug="qwen2.5-vl-7b", body="", title="Qwen2.5-VL-7B", reviewed=REVIEWED, sources=("https://huggingface.co/Qwen/Qwen2.5-VL-7B",),
    hidden=3584, layers=28, heads=28, kv_heads=4, intermediate=18944, vocab=152064, tied=False, published=8_292_166_656,
    params_b=7, max_position=128000, attention_bias=True,
    vision=Vision(hidden=1280, layers=32, params=676_550_144, pixels_per_token=784, intermediate=3420),
)  # fmt: skip

A100 = Gpu(
    slug="a100", body="", title="A100", reviewed=REVIEWED, sources=("https://example.org",), sizes={"40": 39.4, "80": 79.1}
)  # fmt: skip

RUN = {
    "algo": "grpo", "n_gpus": 8, "n_nodes": 1, "gpu_mem_gib": 80, "host_ram_gb": 1000, "full_or_lora": "full", "strategy": "fsdp",
    "train_batch_size": 64, "rollout_n": 8, "mini_batch_size": 64, "micro_batch": 8, "logprob_micro_batch": 8, "prompt_length": 1024,
    "response_length": 3072, "remove_padding": True, "gradient_checkpointing": True, "flash_attention": True, "has_ref": True,
    "has_critic": False, "optimizer_offload": False, "ref_offload": False, "gpu_memory_utilization": 0.5, "rollout_tp": 2,
    "sleep_level": 1, "enforce_eager": True, "rollout_engine": "vllm", "rollout_mode": "colocated",
}  # fmt: skip


@pytest.fixture
def record() -> Callable[..., Framework]:
    return framework


@pytest.fixture
def facts() -> Callable[..., Facts]:
    """Facts of a GRPO run of Qwen2.5-7B on 8 x A100 80 GB; keywords change facts, None takes one away."""

    def make(
        framework_: Framework | None = None, model: Model | None = QWEN_7B, gpu: Gpu | None = A100, **changes: Any
    ) -> Facts:
        values = {id: value for id, value in {**RUN, **changes}.items() if value is not None}
        stated = {id: Fact(id, value, "read") for id, value in values.items()}
        return Facts(stated=stated, values=resolve(stated), framework=framework_ or framework(), model=model, gpu=gpu)

    return make


@pytest.fixture
def vision_model() -> Model:
    return QWEN_VL_7B
