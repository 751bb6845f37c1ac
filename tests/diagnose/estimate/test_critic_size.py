"""Critics and reward models that are no copies of the actor."""

from __future__ import annotations

import pytest

from diagnose.types import Term
from tests.runs import Run, run_of

CHAT = """
deepspeed main.py --actor_model_name_or_path facebook/opt-13b --critic_model_name_or_path facebook/{critic} --actor_zero_stage 3 \\
    --critic_zero_stage 3 --per_device_generation_batch_size 8 --per_device_training_batch_size 4 --max_prompt_seq_len 512 \\
    --enable_hybrid_engine
"""
RAY = """
python3 -m openrlhf.cli.train_ppo_ray --pretrain meta-llama/Meta-Llama-3-8B {more} --actor_num_gpus_per_node 8 --colocate_all_models \\
    --zero_stage 3 --micro_train_batch_size 1 --micro_rollout_batch_size 1 --vllm_gpu_memory_utilization 0.5
"""


def run(text: str) -> Run:
    return run_of(text, {"gpu_mem_gib": 80, "n_gpus": 8})


def terms(found: Run, phase: str = "critic") -> dict[str, Term]:
    assert found.estimate.gpu is not None
    here = found.estimate.gpu.phase(phase)
    assert here is not None
    return {term.id: term for term in here.terms}


def test_the_third_step_of_deepspeed_chat_is_read_by_its_own_keys() -> None:
    """DeepSpeedExamples 45b4b715 applications/DeepSpeed-Chat/training/step3_rlhf_finetuning/main.py; the reward model is the critic's."""
    values = run(CHAT.format(critic="opt-350m")).facts.values
    told = {
        "algo": "ppo",
        "zero_stage": 3,
        "micro_batch": 4,
        "logprob_micro_batch": 8,
        "prompt_length": 512,
        "response_length": 256,
        "critic_b": 0.331196416,
        "reward_b": 0.331196416,
        "has_reward_model": True,
        "rollout_engine": "hf",
    }
    assert {id: values.get(id) for id in told} == told


def test_a_small_critic_holds_and_keeps_less_than_one_as_large_as_the_actor() -> None:
    small, alike = (terms(run(CHAT.format(critic=critic))) for critic in ("opt-350m", "opt-13b"))
    for part in ("weights", "gradients", "optimizer"):
        assert small[f"critic_{part}"].bytes == pytest.approx(alike[f"critic_{part}"].bytes * 0.35 / 13, rel=0.08)
    assert small["activations"].bytes == pytest.approx(alike["activations"].bytes * (0.35 / 13) ** (2 / 3), rel=0.08)
    assert small["activations"].high == alike["activations"].high
    assert small["actor_weights"] == alike["actor_weights"]


def test_a_reward_model_is_as_large_as_its_name_says() -> None:
    apart = "--reward_num_gpus_per_node 1 --critic_num_gpus_per_node 1 --reward_pretrain r/"
    text = RAY.replace("--colocate_all_models", "")
    named, large = (terms(run(text.format(more=f"{apart}{name}")), "reward") for name in ("rm-1b", "rm-8b"))
    assert named["reward_weights"].bytes * 8 == pytest.approx(large["reward_weights"].bytes, rel=0.01)


@pytest.mark.parametrize("more", ["--critic_pretrain /data/critic", "--reward_pretrain r/rm-1b,r/rm-8b"])
def test_a_name_that_tells_no_size_leaves_it_as_large_as_the_actor(more: str) -> None:
    values = run(RAY.format(more=more)).facts.values
    assert not {"critic_b", "reward_b"} & set(values)


def test_a_critic_that_no_card_holds_whole_is_taken_as_sharded_beside_adapters_as_well():
    told = {
        "framework": "roll",
        "algo": "ppo",
        "model": "Qwen2.5-7B",
        "n_gpus": 8,
        "gpu_model": "A100",
        "gpu_mem_gib": 80,
    }
    found = run_of("", {**told, "micro_batch": 2, "full_or_lora": "lora", "lora_rank": 32})
    assert "zero_stage" in found.estimate.missing
    assert "÷ 8 GPUs" in terms(found)["critic_optimizer"].how


def test_adapters_without_a_critic_are_still_taken_as_whole_on_each_card():
    told = {
        "framework": "roll",
        "algo": "grpo",
        "model": "Qwen2.5-7B",
        "n_gpus": 8,
        "gpu_model": "A100",
        "gpu_mem_gib": 80,
    }
    found = run_of("", {**told, "micro_batch": 2, "full_or_lora": "lora", "lora_rank": 32})
    assert "÷" not in terms(found, "load")["actor_weights"].how
