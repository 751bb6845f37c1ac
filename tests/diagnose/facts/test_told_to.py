"""What a reply tells the writer to set is no setting of the run that failed."""

from __future__ import annotations

import pytest

RUN = (
    "swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --use_vllm true --vllm_mode colocate --deepspeed zero3 \\\n"
    "    --vllm_gpu_memory_utilization 0.5\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB.\n"
)


@pytest.mark.parametrize(
    "reply",
    [
        "回复：可以设置 --sleep_level 1 --offload_model true",
        "答：设置 --sleep_level 1",
        "@tomtom 设置 --sleep_level 1",
        "You can set --sleep_level 1 --offload_model true",
        "you can try --sleep_level 1 --offload_model true",
        "Please use `--sleep_level 1`.",
        "maintainer: try --sleep_level 1",
    ],
)
def test_a_setting_that_a_reply_advises_is_not_in_force(values, reply):
    assert values(RUN + reply)["sleep_level"] == 0


@pytest.mark.parametrize(
    "reply",
    [
        "有人建议设置 --sleep_level 1，设置后还是OOM",
        "A maintainer suggested setting --sleep_level 1, which I did",
        "我们加了 --sleep_level 1 --offload_model true",
        "Config: 设置 --sleep_level 1",
    ],
)
def test_one_that_was_made_is(values, reply):
    assert values(RUN + reply)["sleep_level"] == 1


def test_an_override_that_is_advised_is_not_in_force(values):
    run = "EasyR1, 8xA100 80G, Qwen2.5-VL-7B\npython3 -m verl.trainer.main config=examples/config.yaml trainer.n_gpus_per_node=8\n"
    run += "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
    facts = values(run + "可以关掉 offload: worker.actor.offload.offload_optimizer=false")
    assert facts["optimizer_offload"] is True
