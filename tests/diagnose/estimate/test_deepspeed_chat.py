"""Reference and reward model of DeepSpeed-Chat and of ReMax: their stage and where they stand."""

from __future__ import annotations

import pytest

from tests.runs import Run, run_of

BOTH = {"ref_weights", "reward_weights"}
REMAX = """
deepspeed main.py --actor_model_name_or_path meta-llama/Llama-2-7b-hf --reward_model_name_or_path meta-llama/Llama-2-7b-hf \\
    --algo remax --per_device_training_batch_size 4 --actor_zero_stage 2 {more}
"""
CHAT = """
deepspeed main.py --actor_model_name_or_path facebook/opt-13b --critic_model_name_or_path facebook/opt-13b {more}
"""


def run(text: str) -> Run:
    return run_of(text, {"gpu_mem_gib": 80, "n_gpus": 8})


def standing(found: Run, pool: str = "gpu") -> dict[str, float]:
    held = getattr(found.estimate, pool)
    assert held is not None
    phase = held.phase("actor_update")
    assert phase is not None
    return {term.id: term.bytes for term in phase.terms if term.id.endswith("_weights")}


def test_remax_has_a_reference_and_a_reward_model_and_no_critic() -> None:
    """liziniu/ReMax 536ba49 step3_rlhf_finetuning/rlhf_engine.py."""
    found = run(REMAX.format(more=""))
    assert found.facts.values["has_critic"] is False
    assert set(standing(found)) == {"actor_weights", *BOTH}


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_what_has_no_gradient_is_whole_below_stage_3_and_leaves_the_card_for_no_switch(stage: int) -> None:
    stages = f"--reference_zero_stage {stage} --reward_zero_stage {stage}"
    found = standing(run(REMAX.format(more=f"{stages} --offload_reference_model --offload_reward_model")))
    assert found["ref_weights"] == found["actor_weights"]
    assert found["reward_weights"] == pytest.approx(found["actor_weights"], rel=0.02)


def test_at_stage_3_it_is_sharded_whatever_the_stage_of_the_actor() -> None:
    found = standing(run(REMAX.format(more="--reference_zero_stage 3 --reward_zero_stage 3")))
    assert found["ref_weights"] * 8 == found["actor_weights"]
    assert found["reward_weights"] * 8 == pytest.approx(found["actor_weights"], rel=0.02)


def test_at_stage_3_the_switches_bring_it_to_the_host() -> None:
    more = "--reference_zero_stage 3 --reward_zero_stage 3 --offload_reference_model --offload_reward_model"
    found = run(REMAX.format(more=more))
    assert not BOTH & set(standing(found))
    assert set(standing(found, "host")) >= BOTH


@pytest.mark.parametrize(
    ("more", "gone"),
    [
        ("--actor_zero_stage 3 --critic_zero_stage 3", BOTH),
        ("--actor_zero_stage 3 --critic_zero_stage 2", {"ref_weights"}),
        ("--actor_zero_stage 2 --critic_zero_stage 3", {"reward_weights"}),
        ("--actor_zero_stage 2 --critic_zero_stage 2", set()),
    ],
)
def test_deepspeed_chat_shards_them_as_the_actor_and_the_critic(more: str, gone: set[str]) -> None:
    """DeepSpeedExamples 45b4b715 applications/DeepSpeed-Chat/dschat/rlhf/rlhf_engine.py: _init_ref, _init_reward."""
    found = run(CHAT.format(more=f"{more} --offload_reference_model --offload_reward_model"))
    assert BOTH - set(standing(found)) == gone


def test_a_step_of_opt_takes_about_what_its_log_shows() -> None:
    """22.95 GiB, MaxMemAllocated of a log of April 2023, when OPT wrote its attention scores out.

    (DeepSpeedExamples 45b4b715 step1_supervised_finetuning/training_log_output/opt-1.3b-globalBatchSize128.log; transformers v4.28
    models/opt/modeling_opt.py: OPTAttention.)
    """
    text = (
        "deepspeed main.py --model_name_or_path facebook/opt-1.3b --per_device_train_batch_size 8 --max_seq_len 512 "
        "--gradient_accumulation_steps 1 --zero_stage 2 --deepspeed"
    )
    told = {"n_gpus": 16, "framework": "deepspeed-chat", "algo": "sft", "precision": "fp16", "flash_attention": False}
    assert run_of(text, told).estimate.torch_allocated / 2**30 == pytest.approx(22.95, rel=0.15)
