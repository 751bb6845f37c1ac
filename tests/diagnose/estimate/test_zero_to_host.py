"""DeepSpeed with weights and optimizer on the host: what passes by the card, and which models wait there."""

from __future__ import annotations

import pytest

from diagnose.types.estimate import PhaseEstimate
from diagnose.units import GIB
from tests.runs import Run, run_of

STAGE_3 = """deepspeed train_sft.py --model_name_or_path {model} --max_length 512 --gradient_accumulation_steps 8
{{"zero_optimization": {{"stage": 3, "overlap_comm": false,
"offload_optimizer": {{"device": "cpu"}}, "offload_param": {{"device": "cpu"}}}},
"fp16": {{"enabled": true}}}}
"""
PPO = """accelerate launch --config_file zero3.yaml examples/scripts/ppo/ppo_tldr.py --model_name_or_path Qwen/Qwen2.5-7B \\
  --reward_model_path m/r-3b --response_length 64 --per_device_train_batch_size 1
deepspeed_config:
  {offload}
  zero_stage: 3
distributed_type: DEEPSPEED
mixed_precision: bf16
"""
OFFLOAD = "offload_optimizer_device: cpu\n  offload_param_device: cpu"
UNKNOWN = {
    "framework": "mine",
    "algo": "grpo",
    "model": "Qwen3-8B",
    "full_or_lora": "full",
    "zero_stage": 3,
    "n_gpus": 8,
}


def trained(model: str, **answers: object) -> Run:
    known = {"algo": "sft", "full_or_lora": "full", "micro_batch": 1, "gradient_checkpointing": True, "gpu_mem_gib": 16}
    return run_of(STAGE_3.format(model=model), {**known, **answers})


def phase(found: Run, name: str) -> PhaseEstimate:
    assert found.estimate.gpu is not None
    here = found.estimate.gpu.phase(name)
    assert here is not None
    return here


def ids(here: PhaseEstimate) -> set[str]:
    return {term.id for term in here.terms}


@pytest.mark.parametrize(("n_gpus", "measured_mib"), [(1, 9229), (2, 8631), (4, 6743), (8, 6729)])
def test_a_card_holds_what_passes_by_however_few_share_it(n_gpus: int, measured_mib: int) -> None:
    """ChatGLM-6B: sunzeyeah/RLHF@cd1a6d5 README.md, the table of its DeepSpeed runs."""
    found = trained("chatglm-6b", n_gpus=n_gpus).estimate
    assert (found.device_used or 0) / GIB == pytest.approx(measured_mib / 1024, rel=0.15)


@pytest.mark.parametrize("precision", ["bf16", "fp16", "mixed"])
def test_masters_are_kept_without_sharding_too(precision: str) -> None:
    """2 + 2 + 12 bytes: deepspeed@edaa722 runtime/fp16/fused_optimizer.py: FP16_Optimizer.__init__."""
    known = {**UNKNOWN, "algo": "sft", "strategy": "deepspeed", "zero_stage": 0, "precision": precision}
    held = {term.id: term.bytes for term in phase(run_of("", known), "optimizer_step").terms}
    assert held["actor_optimizer"] == 6 * held["actor_weights"]


def test_a_trainer_with_masters_of_its_own_computes_in_16_bits_and_pads_to_the_limit() -> None:
    """hpcaitech/ColossalAI@4f9953be: MixedPrecisionOptimizer; ColossalChat's make_experience."""
    known = {**UNKNOWN, "framework": "colossalchat", "algo": "ppo", "zero_stage": 0, "tp": 8, "max_length": 2048}
    update = phase(run_of("", {**known, "micro_batch": 4, "response_length": 512}), "actor_update")
    held = {term.id: term for term in update.terms}
    assert held["actor_optimizer"].bytes == 6 * held["actor_weights"].bytes
    assert "4 rows × 2,048 tokens padded" in held["logits"].how


@pytest.mark.parametrize(("load_by", "verdict"), [(None, "fits"), ("every_rank", "out")])
def test_a_model_that_comes_whole_must_fit_before_it_is_parted(load_by: str | None, verdict: str) -> None:
    """10 billion parameters of 2 bytes on 16 GB: the same table."""
    told = {"load_by": load_by} if load_by else {}
    found = trained("glm-10b", params_b=10, n_gpus=4, **told).estimate
    assert found.gpu is not None
    assert found.gpu.verdict() == verdict


@pytest.mark.parametrize(("offload", "here"), [("gradient_clipping: 1.0", True), (OFFLOAD, False)])
def test_a_value_model_waits_where_the_policy_does(offload: str, here: bool) -> None:
    """trl v0.17.0 trl/trainer/ppo_trainer.py: PolicyAndValueWrapper; trl/trainer/utils.py: prepare_deepspeed."""
    found = run_of(PPO.format(offload=offload), {"gpu_mem_gib": 80, "n_gpus": 4})
    held = {"critic_weights", "critic_optimizer", "reward_weights", "ref_weights"}
    assert held & ids(phase(found, "rollout")) == (held if here else set())


@pytest.mark.parametrize("offloaded", [False, True])
def test_an_unknown_trainer_is_believed_that_its_state_leaves_the_card(offloaded: bool) -> None:
    told = {"param_offload": offloaded, "optimizer_offload": offloaded, "rollout_engine": "vllm", "gpu_mem_gib": 141}
    found = run_of("python mine.py", {**UNKNOWN, **told})
    assert ("actor_optimizer" not in ids(phase(found, "rollout"))) is offloaded
    assert "actor_optimizer" in ids(phase(found, "actor_update"))


def test_masters_as_megatron_has_them_are_gathered_by_nobody() -> None:
    told = {"precision": "megatron", "tp": 2, "pp": 2, "algo": "pretrain", "gpu_mem_gib": 80, "n_gpus": 16}
    found = run_of("python mine.py", {**UNKNOWN, **told})
    assert not {"gathers", "whole_gradients"} & ids(phase(found, "actor_update"))


@pytest.mark.parametrize("micro_batches", [1, 8])
def test_all_gradients_stay_on_the_card_at_stage_1_beside_an_optimizer_on_the_host(micro_batches: int) -> None:
    text = STAGE_3.format(model="Qwen/Qwen2.5-7B").replace("steps 8", f"steps {micro_batches}")
    text = text.replace(', "offload_param": {"device": "cpu"}', "")
    known = {
        "algo": "sft",
        "full_or_lora": "full",
        "micro_batch": 1,
        "n_gpus": 4,
        "gpu_mem_gib": 80,
        "gradient_checkpointing": True,
    }

    def gradients(stage: int) -> int:
        found = run_of(text.replace('"stage": 3', f'"stage": {stage}'), known)
        return sum(term.bytes for term in phase(found, "actor_update").terms if term.id == "actor_gradients")

    assert gradients(1) > 7e9 * (2 if micro_batches > 1 else 0.1)
    assert gradients(2) == 0


def test_megatrons_gradients_stay_on_the_card_beside_an_optimizer_on_the_host() -> None:
    text = "megatron sft --model Qwen/Qwen3-8B --tensor_model_parallel_size 4 --micro_batch_size 1 --max_length 2048{}\n8 x A100 80GB\n"
    stays, leaves = (run_of(text.format(more)) for more in ("", " --optimizer_cpu_offload true"))
    here, there = (
        {term.id: term.bytes for term in phase(found, "actor_update").terms if term.family == "held"}
        for found in (stays, leaves)
    )
    assert there["actor_gradients"] == here["actor_gradients"] > 10**9
    assert there.get("actor_optimizer", 0) < here["actor_optimizer"]


@pytest.mark.parametrize(("file", "on_card"), [("zero3", True), ("zero3_offload", False)])
def test_a_reference_goes_to_the_host_with_the_policy_whose_configuration_it_is_given(file: str, on_card: bool) -> None:
    """modelscope/ms-swift v3.6.0 swift/trainers/rlhf_trainer/rlhf_mixin.py:47: prepare_deepspeed(self.ref_model, …)."""
    text = f"NPROC_PER_NODE=8 swift rlhf --rlhf_type dpo --model Qwen/Qwen3-8B --train_type full --max_length 2048 --deepspeed {file}"
    found = run_of(f"ms-swift 3.6.0, 8 x A100 80GB\n{text}", {})
    assert ("ref_weights" in ids(phase(found, "actor_update"))) is on_card
