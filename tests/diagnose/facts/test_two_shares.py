"""An engine without a cache at one share, and a trainer without room at a larger: the second is the failure that can be mended."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

RUN = "TRL GRPO colocate, Qwen2.5-7B full, 2x H100 80GB, zero2, --vllm_gpu_memory_utilization 0.3\n"
NO_CACHE = "At that it says No available memory for the cache blocks. "


@pytest.mark.parametrize(
    ("words", "phase"),
    [
        ("With 0.5 I get CUDA OOM in the backward.", "actor_update"),
        ("at 0.45 it is out of memory in the backward", "actor_update"),
        ("改成 0.5 就 OOM，在 update_actor", "actor_update"),
    ],
)
def test_the_failure_at_the_larger_share_counts(words, phase):
    found = diagnose(RUN + NO_CACHE + words, {}, current(), ())
    assert (found.kind, found.phase) == ("gpu_oom", phase)
    assert found.facts.values["gpu_memory_utilization"] in (0.45, 0.5)
    assert not {"rollout.gpu_memory_utilization.up", "rollout.gpu_memory_utilization.down"} & {
        one.lever.slug for one in found.prescriptions
    }
    assert "rollout.gpu_memory_utilization.down" in {one.lever.slug for one in found.not_advised}


@pytest.mark.parametrize(
    "words",
    [
        "With gpu_memory_utilization=0.2: No available memory for the cache blocks. With 0.4 it starts, then CUDA OOM in update_actor.",
        "- gpu_memory_utilization=0.2: No available memory for the cache blocks\n- 0.4: starts, then CUDA OOM in update_actor",
        "gpu_memory_utilization 0.2 -> No available memory for the cache blocks; 0.4 -> CUDA out of memory in update_actor",
    ],
)
def test_a_key_that_is_written_by_its_last_part_is_the_share(words):
    found = diagnose("verl GRPO, Qwen2.5-7B full, 8x A100 40GB. Tried:\n" + words, {}, current(), ())
    assert (found.kind, found.phase) == ("gpu_oom", "actor_update")
    assert found.facts.values["gpu_memory_utilization"] == 0.4


@pytest.mark.parametrize("words", ["With 0.2 I get CUDA OOM in the backward.", "vLLM 0.8.5 gives me OOM too", "lr 0.5"])
def test_a_smaller_share_or_another_number_is_no_second_failure(words):
    found = diagnose(RUN + NO_CACHE + words, {}, current(), ())
    assert found.kind == "vllm_no_kv_blocks"
    assert found.facts.values["gpu_memory_utilization"] == 0.3
