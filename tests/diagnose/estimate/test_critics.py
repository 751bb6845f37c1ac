"""A critic's phases and its bytes: settings of its own, its optimizer, packing, adapters; a reference brought up to date."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diagnose.estimate import estimate
from diagnose.knowledge import current
from diagnose.pipeline import diagnose, facts_of
from diagnose.types import PhaseEstimate
from diagnose.units import GIB
from diagnose.vocabulary import Value


def _ids(phase: PhaseEstimate) -> set[str]:
    return {term.id for term in phase.terms}


def _phases(facts: Any) -> list[str]:
    return [phase.phase for phase in estimate(facts).gpu.phases]


def test_a_critic_adds_its_phases_and_its_bytes(facts: Any) -> None:
    without, with_critic = facts(), facts(algo="ppo", has_critic=True)
    assert "critic" not in _phases(without)
    assert {"values", "critic"} <= set(_phases(with_critic))
    assert "critic_weights" in _ids(estimate(with_critic).gpu.phase("actor_update"))


def test_a_critic_with_settings_of_its_own_counts_by_them(facts: Any) -> None:
    run = {"algo": "ppo", "has_critic": True, "gradient_checkpointing": True, "remove_padding": True}
    alike, whole = estimate(facts(**run)).gpu, estimate(facts(**run, critic_gradient_checkpointing="false")).gpu
    assert whole.phase("critic").bytes > alike.phase("critic").bytes
    assert whole.phase("actor_update").bytes == alike.phase("actor_update").bytes
    padded = estimate(facts(**run, critic_remove_padding=False)).gpu
    assert padded.phase("values").bytes > alike.phase("values").bytes
    assert padded.phase("logprob").bytes == alike.phase("logprob").bytes


@pytest.mark.parametrize(("micro", "rollout"), [(2, 16), (16, 2)])
def test_samples_cut_once_go_to_the_critic_as_they_go_to_the_actor(micro: int, rollout: int) -> None:
    text = (
        "python3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen2.5-7B-Instruct --advantage_estimator gae --packing_samples "
        f"--micro_train_batch_size {micro} --micro_rollout_batch_size {rollout} --prompt_max_len 1024 --generate_max_len 7168 "
        "--actor_num_nodes 1 --actor_num_gpus_per_node 8 --colocate_all_models --zero_stage 3\n8 x A100 80GB"
    )
    pool = diagnose(text, {}, current(), ()).estimate.gpu
    assert pool is not None
    values = next(term for term in pool.phase("values").terms if term.id == "activations")
    assert f"{rollout} rows" in values.how


def test_a_critic_packs_by_tokens_on_its_own_while_the_actor_takes_rows(facts: Any) -> None:
    run = {"algo": "ppo", "has_critic": True, "critic_micro_batch": 1, "train_batch_size": 1024, "mini_batch_size": 256}
    rows, packed, less = (
        estimate(facts(**run, **budget)).gpu
        for budget in (
            {},
            {"critic_dynamic_batch": True, "critic_tokens": 262144},
            {"critic_dynamic_batch": True, "critic_tokens": 131072},
        )
    )
    assert rows.phase("critic").bytes < less.phase("critic").bytes < packed.phase("critic").bytes
    assert rows.phase("actor_update").bytes == packed.phase("actor_update").bytes


def test_a_critic_that_trains_adapters_has_the_frozen_base_of_the_actor(facts: Any, record: Any) -> None:
    adapters = replace(record(), fallback=True)
    run = {"algo": "ppo", "has_critic": True, "full_or_lora": "lora", "lora_rank": 8, "precision": "bf16"}
    sizes = [
        {term.id: term.bytes for term in estimate(facts(kind, **run)).gpu.phase("critic").terms}
        for kind in (adapters, record())
    ]
    assert sizes[0]["critic_weights"] == sizes[0]["actor_weights"]
    assert sizes[1]["critic_weights"] > 1.9 * sizes[0]["critic_weights"]


@pytest.mark.parametrize(("how", "there"), [("full", True), ("lora", False)])
def test_of_an_unknown_trainer_the_critic_trains_what_the_actor_does(
    facts: Any, record: Any, how: str, there: bool
) -> None:
    run = facts(replace(record(), fallback=True), algo="ppo", has_critic=True, full_or_lora=how, lora_rank=8)
    assert ("critic_optimizer" in _ids(estimate(run).gpu.phase("critic"))) is there


def _synced(**known: Value) -> dict[str, float]:
    """What the weight sync holds where the reference is mixed with the policy."""
    answers = {
        "framework": "ms-swift", "framework_version": "3.12.5", "model": "Qwen3-VL-32B", "n_gpus": 16, "n_nodes": 2, "gpu_model": "H200",
        "algo": "grpo", "full_or_lora": "full", "has_ref": True, "strategy": "deepspeed", "zero_stage": 3, "sync_ref": True,
    }  # fmt: skip
    told = estimate(facts_of({**answers, **known}, current()))
    return next((_terms(phase) for phase in told.gpu.phases if phase.phase == "weight_sync"), {})


def _terms(phase: PhaseEstimate) -> dict[str, float]:
    return {term.id: term.bytes / GIB for term in phase.terms}


def test_a_reference_that_is_brought_up_to_date_is_gathered_beside_the_policy() -> None:
    """33.4 billion parameters in bf16, twice: TRL v0.24.0 trainer/callbacks.py; modelscope/ms-swift issue 8095."""
    assert _synced()["ref_sync"] == pytest.approx(2 * 2 * 33.4e9 / GIB, rel=0.02)
    assert "ref_sync" not in _synced(sync_ref=False)
    assert "ref_sync" not in _synced(zero_stage=2)
    assert "ref_sync" not in _synced(full_or_lora="lora")
    assert _synced(framework_version="4.2.0", sync_batches=16)["ref_sync"] < 10
