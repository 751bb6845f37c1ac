"""An engine's cache that is set in bytes, and one that stays while the policy is trained."""

from __future__ import annotations

import pytest

from diagnose.units import GIB
from tests.runs import Run, run_of

VERL = """python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen3-8B \\
 actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.gpu_memory_utilization=0.6 trainer.n_gpus_per_node=8 trainer.nnodes=1"""
MEGATRON = """torchrun --nproc-per-node 8 train_rl.py --tensor-model-parallel-size 4 --seq-length 1024 --bf16 \\
 --perform-rl-step --grpo-group-size 2 --grpo-prompts-per-step 2 --micro-batch-size 1 --grpo-kl-beta 0.0"""
ANSWERS = {"gpu_model": "H100", "gpu_mem_gib": 80, "model": "Qwen3-8B"}


def told(text: str) -> Run:
    return run_of(text, ANSWERS)


def sizes(text: str, phase: str) -> dict[str, float]:
    found = told(text).estimate
    assert found is not None
    assert found.gpu is not None
    return {term.id: term.bytes / GIB for term in found.gpu.phase(phase).terms}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (VERL, " +actor_rollout_ref.rollout.engine_kwargs.vllm.kv_cache_memory_bytes=21474836480"),
        (
            "uv run examples/run_grpo.py policy.generation.backend=vllm",
            " policy.generation.vllm_kwargs.kv_cache_memory_bytes=21474836480",
        ),
        ("vllm serve Qwen/Qwen3-8B", " --kv-cache-memory-bytes 21474836480"),
    ],
)
def test_bytes_of_the_cache_are_read_as_gib(text: str, key: str) -> None:
    assert "kv_pool_gib" not in told(text).facts.values
    assert told(text + key).facts.values["kv_pool_gib"] == 20


# vLLM 0.11 v1/worker/gpu_worker.py: determine_available_memory
def test_a_cache_that_is_set_outranks_the_engines_share() -> None:
    key = " +actor_rollout_ref.rollout.engine_kwargs.vllm.kv_cache_memory_bytes=21474836480"
    assert sizes(VERL, "rollout")["kv_pool"] > 25
    assert sizes(VERL + key, "rollout")["kv_pool"] == 20


# NVIDIA/Megatron-LM@d98e8a64d tests/functional_tests/test_cases/gpt/gpt_grpo_tp4_pp1_dp2_8b_throughput: 59.75 GiB allocated with 20
def test_megatrons_own_engine_keeps_its_buffer_while_the_policy_is_trained() -> None:
    unset, less = (
        sizes(MEGATRON, "actor_update"),
        sizes(MEGATRON + " --inference-dynamic-batching-buffer-size-gb 20", "actor_update"),
    )
    assert (unset["kv_pool"], less["kv_pool"]) == (40, 20)
    assert less["actor_optimizer"] == pytest.approx(12 * 8.19e9 / 4 / GIB, rel=0.01)
    found = told(MEGATRON + " --inference-dynamic-batching-buffer-size-gb 20").estimate
    assert found.torch_allocated / GIB == pytest.approx(59.75, rel=0.1)
    freed = sizes(MEGATRON + " --rl-kv-cache-management-mode recompute", "actor_update")
    assert "kv_pool" not in freed


def test_it_samples_with_the_weights_that_it_trains_unless_the_engine_has_parallel_sizes_of_its_own() -> None:
    assert "engine_weights" not in sizes(MEGATRON, "rollout")
    own = sizes(MEGATRON + " --rl-inference-tensor-model-parallel-size 2", "actor_update")
    assert own["engine_weights"] == pytest.approx(2 * 8.19e9 / 2 / GIB, rel=0.01)
