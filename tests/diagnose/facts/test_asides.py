"""A setting of another time, of a document or of a later try is not that of the run that failed."""

from __future__ import annotations

import pytest

HEAD = "TRL GRPO with Qwen2.5-3B on one A100 40GB, CUDA out of memory in backward.\n"
CONFIG = HEAD + "per_device_train_batch_size=8\nmax_completion_length=2048\n"


@pytest.mark.parametrize(
    "text",
    [
        CONFIG + "It works with max_completion_length 512",
        CONFIG + "Edit: a colleague suggested max_completion_length=512, that got me past the first step.",
        CONFIG + "Earlier with max_completion_length=512 a step took 40 s.",
        CONFIG + "之前用的 max_completion_length=512，速度很快",
        HEAD + "The docs say max_completion_length=256 in one place.\nI run max_completion_length=2048",
        HEAD + "I run max_completion_length=2048\nIn the example they use `max_completion_length=256`.",
        HEAD + "Earlier with max_completion_length=512 it took 40 s a step. Now it is 2048.",
    ],
)
def test_the_value_of_the_run_that_failed_is_read(values, text):
    assert values(text)["response_length"] == 2048


@pytest.mark.parametrize(
    "text",
    [
        CONFIG + "I then set max_completion_length=512 which fixed the first step, but it still runs out of memory.",
        CONFIG + "Before that I set max_completion_length=512 and it fails the same way.",
        CONFIG + "The docs say to try max_completion_length=512, so I did",
        HEAD + "Earlier max_completion_length=512",
    ],
)
def test_a_value_that_fails_as_well_or_stands_alone_is_read(values, text):
    assert values(text)["response_length"] == 512


def test_what_a_document_uses_is_no_setting_though_it_stands_alone(values):
    text = (
        HEAD
        + "In the example they use vllm_gpu_memory_utilization=0.7. I only have use_vllm=True, vllm_mode='colocate'"
    )
    assert values(text).get("gpu_memory_utilization") != 0.7


def test_the_key_to_change_is_the_persons_where_an_engine_prints_the_same_value(facts):
    text = (
        "TRL GRPO\nuse_vllm: true\nvllm_gpu_memory_utilization: 0.3\n"
        "INFO 02-19 08:11:46 worker.py:267] total_gpu_memory (39.39GiB) x gpu_memory_utilization (0.30) = 11.82GiB\n"
        "ValueError: No available memory for the cache blocks."
    )
    assert facts(text).stated["gpu_memory_utilization"].key == "vllm_gpu_memory_utilization"
