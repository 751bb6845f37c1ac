"""The name of a model that only judges is not that of the model that is trained."""

from __future__ import annotations

import pytest

RUN = "TRL GRPO on one A100 40GB, CUDA out of memory. "


@pytest.mark.parametrize(
    "words",
    [
        "My reward model (Skywork-Reward-Llama-3.1-8B) sits on the same card as the policy",
        "reward model is Skywork/Skywork-Reward-V2-Qwen3-8B",
        "I use internlm2-7b-reward for it",
        "reward: Skywork-Reward-Gemma-2-27B",
        "reward model: Llama-3.1-8B-Instruct",
        "the PRM is Qwen2.5-Math-PRM-7B",
        "Llama-Guard-3-8B tells what is safe",
        "用 Llama-3.1-8B-Instruct 作为奖励模型",
    ],
)
def test_a_reward_model_alone_tells_nothing_of_the_policy(values, words):
    found = values(RUN + words)
    assert "model" not in found
    assert "params_b" not in found


def test_the_policy_beside_it_is_read(values):
    found = values(RUN + "Policy Qwen3-4B, reward model: Llama-3.1-8B-Instruct")
    assert (found["model"], found["params_b"]) == ("Qwen3-4B", 4)


@pytest.mark.parametrize(
    "text",
    [
        "OpenRLHF train_rm, Skywork-Reward-Llama-3.1-8B, CUDA OOM",
        "swift rlhf --rlhf_type rm --model Skywork/Skywork-Reward-Llama-3.1-8B\nCUDA OOM",
        "I train a reward model: Llama-3.1-8B, CUDA OOM",
    ],
)
def test_one_that_is_trained_is_read(values, text):
    assert values(text)["params_b"] == 8
