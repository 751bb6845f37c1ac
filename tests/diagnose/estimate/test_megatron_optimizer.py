"""Where Megatron's optimizer keeps its state, and in which types."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runs import Run, run_of

TEXT = 7_615_616_512  # parameters of Qwen2.5-7B
SFT = "megatron sft --model Qwen/Qwen2.5-7B-Instruct --packing true --max_length 4096 --micro_batch_size 1"
ON_CPU = f"{SFT} --optimizer_cpu_offload true"


def _run(command: str, **answers: Any) -> Run:
    return run_of(command, {"n_gpus": 8, "gpu_mem_gib": 80, **answers})


def _bytes(run: Run, term: str, phase: str = "optimizer_step", pool: str = "gpu") -> int:
    found = run.estimate.pool(pool).phase(phase)
    return sum(one.bytes for one in found.terms if one.id == term)


def test_an_optimizer_on_the_cpu_leaves_its_fp32_masters_on_the_card() -> None:
    assert _bytes(_run(ON_CPU), "actor_optimizer") == pytest.approx(4 * TEXT / 8)


def test_a_precision_aware_one_leaves_nothing() -> None:
    assert _bytes(_run(f"{ON_CPU} --use_precision_aware_optimizer true"), "actor_optimizer") == 0


@pytest.mark.parametrize(("share", "each"), [(1.0, 4), (0.75, 6), (0.25, 10), (0.0, 12)])
def test_a_share_moves_moments_alone(share: float, each: int) -> None:
    run = _run(f"{ON_CPU} --optimizer_offload_fraction {share}")
    assert _bytes(run, "actor_optimizer") == pytest.approx(each * TEXT / 8)


def test_the_copies_that_the_cpu_updates_are_whole() -> None:
    """Masters and moments, whatever of them stands on the card too."""
    plain, aware = (_run(f"{ON_CPU} --use_precision_aware_optimizer {on}") for on in ("false", "true"))
    hosts = [_bytes(run, "actor_optimizer", pool="host") for run in (plain, aware)]
    assert hosts[0] == hosts[1] > 0


BRIDGE = "python scripts/training/run_recipe.py optimizer.optimizer_cpu_offload={on} optimizer.optimizer_offload_fraction={share}"
RECIPE = {"model": "Qwen3-30B-A3B", "n_gpus": 16, "tp": 2, "pp": 2, "ep": 4, "etp": 1, "max_length": 4096}


@pytest.mark.parametrize(("share", "less"), [(0.25, 3.8), (0.5, 7.6), (1.0, 15.3)])
def test_what_each_quarter_takes_away_is_what_was_measured(share: float, less: float) -> None:
    """GB of NVIDIA-NeMo/Megatron-Bridge docs/training/cpu-offloading.md at 067f987, Qwen3-30B-A3B on 16 cards."""
    answers = {**RECIPE, "algo": "pretrain", "full_or_lora": "full", "precision": "megatron", "micro_batch": 1}
    before, after = (
        _bytes(_run(BRIDGE.format(on=on, share=share), **answers), "actor_optimizer") for on in ("False", "True")
    )
    assert (before - after) / 1e9 == pytest.approx(less, rel=0.01)


@pytest.mark.parametrize(
    ("flags", "each"),
    [
        ("", 2 + 4 + 4),  # of a master what the bf16 weight lacks
        ("--exp_avg_dtype bf16 --exp_avg_sq_dtype bf16", 2 + 2 + 2),
        ("--exp_avg_dtype fp8 --exp_avg_sq_dtype fp16", 2 + 1 + 2),
        ("--fp8_format e4m3 --fp8_recipe blockwise --exp_avg_dtype bf16", 4 + 2 + 4),
    ],
)
def test_a_precision_aware_optimizer_keeps_its_state_in_types_of_its_own(flags: str, each: int) -> None:
    run = _run(f"{SFT} --use_precision_aware_optimizer true {flags}")
    assert _bytes(run, "actor_optimizer") == pytest.approx(each * TEXT / 8)


def test_types_without_it_change_nothing() -> None:
    run = _run(f"{SFT} --exp_avg_dtype bf16 --exp_avg_sq_dtype bf16")
    assert _bytes(run, "actor_optimizer") == pytest.approx(12 * TEXT / 8)


def test_gradients_in_16_bits_are_read_as_they_are_by_a_precision_aware_step_alone() -> None:
    flags = f"{SFT} --main_grads_dtype bf16 --use_precision_aware_optimizer"
    aware, plain = (_run(f"{flags} {on}", framework_version="4.5.0") for on in ("true", "false"))
    assert _bytes(aware, "actor_gradients") == _bytes(plain, "actor_gradients") == 2 * TEXT
    assert _bytes(aware, "adam_temporaries") == 0
    assert _bytes(plain, "adam_temporaries") == pytest.approx(4 * TEXT / 8)


NEMO = (
    "uv run examples/run_grpo_math.py --config examples/configs/grpo_math_1B_megatron.yaml policy.model_name=Qwen/Qwen2.5-7B-Instruct "
    "cluster.gpus_per_node=8 cluster.num_nodes=1 policy.megatron_cfg.enabled=true policy.max_total_sequence_length=4096"
)


def test_files_that_ship_16_bit_gradients_are_read_so() -> None:
    shipped, whole = (
        _run(f"{NEMO} {more}")
        for more in ("", "policy.megatron_cfg.distributed_data_parallel_config.grad_reduce_in_fp32=true")
    )
    assert _bytes(shipped, "actor_gradients") == 2 * TEXT
    assert _bytes(whole, "actor_gradients") == 4 * TEXT
    assert _bytes(shipped, "actor_optimizer") == pytest.approx(10 * TEXT / 8)


VERL = (
    "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
    "algorithm.adv_estimator=grpo +actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload=True "
)


@pytest.mark.parametrize(("offload", "between"), [("True", 0), ("False", 4)])
def test_what_stays_for_the_step_leaves_the_card_with_what_is_offloaded(offload: str, between: int) -> None:
    run = _run(f"{VERL} actor_rollout_ref.actor.megatron.optimizer_offload={offload}")
    assert _bytes(run, "actor_optimizer") == pytest.approx(4 * TEXT / 8)
    assert _bytes(run, "actor_optimizer", "rollout") == pytest.approx(between * TEXT / 8)


@pytest.mark.parametrize(("flags", "each"), [("", 6), ("--cross-entropy-loss-fusion", 10)])
def test_the_loss_of_megatron_itself_works_in_place(flags: str, each: int) -> None:
    answers = {"algo": "pretrain", "full_or_lora": "full", "precision": "megatron", "model": "Qwen2.5-7B"}
    run = _run(f"torchrun pretrain_gpt.py --seq-length 4096 --micro-batch-size 1 {flags}", **answers)
    assert _bytes(run, "logits", "actor_update") == each * 4096 * 152_064


def test_recipes_of_the_bridge_cut_no_expert() -> None:
    command = "python scripts/training/run_recipe.py --recipe qwen3_30b_a3b_pretrain_config"
    values = _run(command, model="Qwen3-30B-A3B", n_gpus=16, tp=2, pp=2, ep=4).facts.values
    assert values["etp"] == 1
    assert values["fused_loss"] is True
