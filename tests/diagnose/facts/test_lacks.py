"""What a trainer is said to do and does not have."""

import pytest

from diagnose.pipeline import diagnose
from diagnose.words import lead
from diagnose.words.chinese import summary


def answer(knowledge, text, **answers):
    return diagnose(text, answers, knowledge, ())


@pytest.mark.parametrize("text", ["LLaMA-Factory GRPO", "能用 LLaMA-Factory 跑 GRPO 吗，", "LLaMA-Factory RLOO"])
def test_an_algorithm_that_the_trainer_does_not_have_is_told_and_nothing_is_estimated(knowledge, text):
    found = answer(knowledge, f"{text} Qwen2.5-7B 8xA100 80G CUDA OOM")
    assert found.estimate.gpu is None
    assert "has no GRPO" in lead(found)
    assert "没有 GRPO" in summary(found).lead


@pytest.mark.parametrize("algo", ["DPO", "SFT", "PPO"])
def test_what_it_has_is_estimated(knowledge, algo):
    found = answer(knowledge, f"LLaMA-Factory {algo} Qwen2.5-7B 8xA100 80G CUDA OOM")
    assert found.estimate.gpu is not None
    assert "Nothing is estimated" not in lead(found)


def test_the_trainer_that_is_named_instead_is_estimated(knowledge):
    found = answer(knowledge, "LLaMA-Factory GRPO Qwen2.5-7B 8xA100 80G CUDA OOM", framework="easyr1")
    assert found.estimate.gpu is not None
    assert "Nothing is estimated" not in lead(found)
