"""PPO where the critic is one module with the actor, as TRL and ms-swift have it."""

from __future__ import annotations

import pytest

from diagnose.types import Term
from diagnose.units import to_gib
from tests.runs import Run, run_of

SWIFT = """
NPROC_PER_NODE=8 swift rlhf --rlhf_type ppo --model LLM-Research/Meta-Llama-3.1-8B-Instruct \\
    --reward_model AI-ModelScope/Skywork-Reward-Llama-3.1-8B-v0.2 --tuner_type {tuner} --torch_dtype bfloat16 \\
    --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --max_length 2048 --response_length 512 --deepspeed {zero}
"""


def run(tuner: str = "full", zero: str = "zero3", **answers: object) -> Run:
    return run_of(SWIFT.format(tuner=tuner, zero=zero), {"gpu_mem_gib": 80, "n_gpus": 8, **answers})


def terms(found: Run, phase: str) -> dict[str, Term]:
    assert found.estimate.gpu is not None
    here = found.estimate.gpu.phase(phase)
    assert here is not None
    return {term.id: term for term in here.terms}


def test_a_run_reserves_about_what_its_author_saw() -> None:
    """modelscope/ms-swift@3602360 examples/train/rlhf/ppo/full.sh: 8 * 65 GiB; short prompts."""
    reserved = run(real_prompt_length=100).estimate.torch_reserved
    assert reserved is not None
    assert to_gib(reserved) == pytest.approx(65, rel=0.15)


def test_generation_gathers_actor_and_critic() -> None:
    rollout = terms(run(), "rollout")
    assert rollout["gathered_weights"].bytes == pytest.approx(2 * (8.03e9 + 8e9), rel=0.01)


def test_the_update_keeps_the_activations_of_both_without_checkpoints() -> None:
    update = terms(run(), "actor_update")
    assert "checkpoints" not in update
    assert update["critic_activations"].bytes == pytest.approx(update["activations"].bytes, rel=0.01)


def test_scores_of_all_sampled_tokens_stay_and_are_there_three_times_while_sampled() -> None:
    """trl v0.17.0 trl/trainer/utils.py: a list of the steps' scores, its stack, and that of the batch before."""
    scores = 4 * 2 * 512 * 128256
    rollout, update = terms(run(), "rollout"), terms(run(), "actor_update")
    assert update["sampled_scores"].bytes == scores
    assert rollout["sampled_scores"].bytes + rollout["scores_on_the_way"].bytes == 3 * scores


def test_a_critic_with_adapters_has_no_optimizer_of_its_size() -> None:
    update = terms(run("lora", "zero2"), "actor_update")
    assert "critic_optimizer" not in update
    assert to_gib(update["critic_weights"].bytes) == pytest.approx(14.9, rel=0.01)
    assert to_gib(update["reward_weights"].bytes) == pytest.approx(14.9, rel=0.01)
