"""The first step passed and the second did not: what the first optimizer step made is named."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report import to_markdown

RUN = (
    "verl grpo qwen2.5-32b, 8 x A800 80G, rollout tp=4, gpu_memory_utilization=0.5, param_offload=True optimizer_offload=True, "
    "ppo_micro_batch_size_per_gpu=1, max_response_length=8192{more}\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.90 GiB. {when}\n"
)


def _told(when: str, more: str = "") -> str:
    return to_markdown(diagnose(RUN.format(when=when, more=more), {}, current(), ())).replace("\u00a0", " ")


@pytest.mark.parametrize("when", ["the first step passes, the second step dies", "it dies at step 2"])
def test_adams_state_is_named_where_the_first_step_has_room_without_it(when: str) -> None:
    told = _told(when)
    # 8 bytes of 32.8 billion parameters on eight cards
    assert "The largest part is Adam state, 30.5 GiB. It is there from the first optimizer step on: before," in told
    assert "the actor update needs 51.2 GiB, so that a first step may pass." in told


def test_in_chinese_too() -> None:
    told = _told("第一步是好的，第二步就炸了，显存不够")
    assert "其中优化器状态 30.5 GiB 在第一次优化器更新时才有，之前策略更新只需 51." in told


@pytest.mark.parametrize(
    ("when", "more"),
    [
        ("it dies at step 40", ""),
        ("OOM in the first step", ""),
        ("", ""),
        ("it dies at step 2", ", max_prompt_length=32768 use_remove_padding=False use_fused_kernels=False"),
    ],
)
def test_not_where_it_is_not_why(when: str, more: str) -> None:
    assert "first optimizer step on" not in _told(when, more)


def test_not_of_a_trainer_that_makes_its_state_before_it_trains() -> None:
    run = (
        "openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen2.5-32B --zero_stage 3 --actor_num_gpus_per_node 8 --advantage_estimator group_norm"
        " --generate_max_len 8192 --micro_train_batch_size 1 --colocate_all_models\n8 x A100 80G, dies at step 2\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.90 GiB."
    )
    assert "first optimizer step on" not in to_markdown(diagnose(run, {}, current(), ()))
