"""Sizes of the models beside the one that is trained, in words."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose


@pytest.mark.parametrize(
    ("text", "id", "size"),
    [
        ("TRL OnlineDPO Qwen2-7B with reward model Skywork 8B", "reward_b", 8),
        ("PPO own script. Llama-2-13b actor, critic opt-350m", "critic_b", 0.35),
        ("PPO, actor Qwen2.5-7B, reward model is a 3B, CUDA out of memory", "reward_b", 3),
        ("GRPO Qwen2.5-3B，用 7B 的 reward model 打分，爆显存", "reward_b", 7),
        ("GKD: student Qwen2.5-1.5B, teacher 14B, CUDA out of memory", "teacher_b", 14),
        ("Qwen3-8B student with a 32B teacher model, CUDA out of memory", "teacher_b", 32),
        ("学生 1.7B，教师 8B，爆显存", "teacher_b", 8),
        ("actor Qwen2.5-7B, critic also 7B, PPO, CUDA out of memory", "critic_b", 7),
        ("ppo llama3 8b actor critic都是8b reward也是8b 爆显存", "critic_b", 8),
        ("ppo llama3 8b actor critic都是8b reward也是8b 爆显存", "reward_b", 8),
    ],
)
def test_the_size_of_a_role_is_read(values, text, id, size):
    assert values(text)[id] == size


@pytest.mark.parametrize(
    "text",
    [
        "Qwen2.5-7B with critic and reward model, CUDA out of memory",
        "reward model 8 GPUs, Qwen2.5-7B, CUDA out of memory",
        "7B reward is low, CUDA out of memory",
        "a 32B critic-free (REINFORCE) run, CUDA out of memory",
        "ppo 7b 爆显存 critic和reward都是同一张卡 8 batch",
        "a 3B reward model and a 7B reward model, CUDA out of memory",
    ],
)
def test_no_size_is_guessed_for_a_role(values, text):
    assert not {"reward_b", "critic_b", "teacher_b"} & values(text).keys()


@pytest.mark.parametrize(
    ("text", "fork"), [("verl agent loop, GRPO 7B OOM", None), ("verl-agent, GRPO 7B OOM", "verl-agent")]
)
def test_the_agent_loop_of_a_trainer_is_no_fork(text, fork):
    found = diagnose(text, {}, current(), ()).facts.fork
    assert (found.id if found else None) == fork


@pytest.mark.parametrize(
    ("failed", "level"),
    [("RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62", 1), ("", 0)],
)
def test_an_engine_whose_own_allocator_fails_is_one_that_sleeps(values, failed, level):
    run = "python3 -m openrlhf.cli.train_ppo_ray --colocate_all_models --zero_stage 3 --pretrain Qwen/Qwen2.5-14B"
    assert values(f"{run}\n{failed}")["sleep_level"] == level
