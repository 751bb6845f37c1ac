"""Oat's own keys: sail-sg/oat c1a074c oat/args.py, and what its learners make of them."""

from __future__ import annotations

import pytest

from diagnose.vocabulary import Value
from tests.runs import Run, run_of

RL = """
python -m oat.experiment.run_math_rl --critic_type {critic} --gpus 8 --collocate --vllm_sleep --vllm_gpu_ratio 0.35 --beta {beta} \\
    --pretrain Qwen/Qwen2.5-1.5B --zero-stage {stage} --ref_offload --prompt_max_length 1024 --num_samples 8 --generate_max_length 3000 \\
    --train_batch_size_per_device 2 --rollout_batch_size 128 {more}
"""
PAIRS = """
python -m oat.experiment.{module} --gpus 2 --collocate --algo {algo} --pretrain trl-lib/pythia-1b-deduped-tldr-sft \\
    --generate-max-length 53 --train-batch-size-per-device 8 {more}
"""


def run(text: str) -> Run:
    return run_of(text, {"gpu_mem_gib": 80})


def told(text: str, *ids: str) -> dict[str, Value | None]:
    values = run(text).facts.values
    return {id: values.get(id) for id in ids}


def standing(found: Run, phase: str = "actor_update") -> set[str]:
    assert found.estimate.gpu is not None
    here = found.estimate.gpu.phase(phase)
    assert here is not None
    return {term.id for term in here.terms}


def test_a_run_of_samples_is_read_by_its_own_keys() -> None:
    expected = {
        "algo": "dr_grpo",
        "micro_batch": 2,
        "rollout_n": 8,
        "prompt_length": 1024,
        "response_length": 3000,
        "gpu_memory_utilization": 0.35,
        "rollout_engine": "vllm",
        "rollout_mode": "colocated",
        "sleep_level": 1,
        "has_critic": False,
        "has_ref": False,
        "logits_chunked": True,
        "zero_stage": 2,
    }
    assert told(RL.format(critic="drgrpo", beta=0, stage=2, more=""), *expected) == expected


def test_only_the_loss_of_ppo_has_a_critic() -> None:
    assert told(RL.format(critic="ppo", beta=0, stage=2, more=""), "algo", "has_critic") == {
        "algo": "ppo",
        "has_critic": True,
    }


@pytest.mark.parametrize(("stage", "there"), [(2, True), (3, False)])
def test_a_reference_leaves_the_card_at_stage_3_alone(stage: int, there: bool) -> None:
    found = run(RL.format(critic="grpo", beta=0.1, stage=stage, more="--no-use_fused_lm_head"))
    assert ("ref_weights" in standing(found)) is there
    assert found.facts.values["logits_chunked"] is False


def test_a_dry_run_trains_on_rows_of_its_own_length() -> None:
    more = "--dry_run --dry_run_prompt_len 512 --dry_run_response_len 16384"
    assert told(RL.format(critic="grpo", beta=0, stage=2, more=more), "prompt_length", "response_length") == {
        "prompt_length": 512,
        "response_length": 16384,
    }


def test_an_engine_that_is_not_told_to_sleep_stays_on_the_card() -> None:
    text = RL.format(critic="grpo", beta=0, stage=2, more="")
    assert not {"engine_weights", "kv_pool"} & standing(run(text))
    assert {"engine_weights", "kv_pool"} <= standing(run(text.replace("--vllm_sleep ", "")))


@pytest.mark.parametrize(
    ("module", "algo", "expected", "has_ref"),
    [
        ("main", "DPO", "online_dpo", True),
        ("main", "SimPO", "online_dpo", False),
        ("run_offline", "DPO", "dpo", True),
        ("run_offline", "SimPO", "simpo", None),
        ("run_offline", "SFT", "sft", None),
    ],
)
def test_losses_on_pairs_are_of_samples_but_for_run_offline(
    module: str, algo: str, expected: str, has_ref: bool | None
) -> None:
    text = PAIRS.format(module=module, algo=algo, more="")
    assert told(text, "algo", "has_ref") == {"algo": expected, "has_ref": has_ref}
    assert run(text).facts.values["framework"] == "oat"
