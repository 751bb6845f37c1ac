"""The type in which weights are held, from what the launch and the trainer ask for."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.estimate import estimate
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.units import GIB

LAUNCH = (
    "trl==0.11.0\n"
    "accelerate launch --num_processes 2 --fsdp_sharding_strategy 1 --mixed_precision {mixed} train.py # trl/trainer/\n"
    "--model_name_or_path mistralai/Mistral-7B-v0.1 --torch_dtype bfloat16 --per_device_train_batch_size 2"
    " --max_seq_len 4096 --packing True --gradient_checkpointing True {more}"
)
RUN = {
    "gpu_model": "A100",
    "gpu_mem_gib": 80,
    "n_gpus": 2,
    "algo": "sft",
    "full_or_lora": "full",
    "model": "Mistral-7B-v0.1",
}


@pytest.mark.parametrize(
    ("mixed", "more", "measured"),
    [("no", "", 33.738), ("no", "--bf16 True", 67.46), ("bf16", "", 67.46)],
)
def test_fsdp_makes_weights_fp32_under_mixed_precision_alone(mixed: str, more: str, measured: float) -> None:
    """Allocated on two cards: fms-acceleration 876e2ed scripts/benchmarks/refs/a100_80gb.csv and a100_80gb_liger.csv."""
    found = diagnose(LAUNCH.format(mixed=mixed, more=more), RUN, current(), ()).estimate
    assert found is not None
    assert (found.torch_allocated or 0) / GIB == pytest.approx(measured, rel=0.02)


@pytest.mark.parametrize(("card", "each"), [("T4", "4"), ("L4", "2")])
def test_full_training_without_bf16_holds_fp32_weights(card: str, each: str) -> None:
    """Of Qwen3-0.6B 3.5 GiB were reserved on a T4 before training began, 4 bytes for each of 751,632,384 parameters and the rest."""
    script = 'from unsloth import FastLanguageModel\nFastLanguageModel.from_pretrained("unsloth/Qwen3-0.6B", full_finetuning = True)'
    answers = {
        "gpu_model": card,
        "n_gpus": 1,
        "algo": "sft",
        "model": "Qwen3-0.6B",
        "max_length": 1024,
        "micro_batch": 2,
    }
    found = diagnose(script, answers, current(), ()).estimate
    assert found is not None
    assert found.gpu is not None
    weights = next(term for term in found.gpu.phases[0].terms if term.id == "actor_weights")
    assert weights.how.endswith(f"× {each} B")


def test_a_frozen_base_of_unknown_type_counts_as_its_checkpoint_and_may_be_twice_that(facts: Any, record: Any) -> None:
    run = {"algo": "sft", "has_ref": None, "rollout_n": None, "n_gpus": 1, "strategy": None, "full_or_lora": "lora"}
    unknown, stated = (estimate(facts(record(), **run, precision=precision)) for precision in (None, "bf16"))
    assert "precision" in unknown.missing
    assert "precision" not in stated.missing
    weights = [
        next(term for term in found.gpu.phases[-1].terms if term.id == "actor_weights")
        for found in (unknown, stated)
        if found.gpu
    ]
    assert weights[0].bytes == weights[1].bytes == weights[1].high
    assert weights[0].high - weights[0].bytes == 2 * 7_615_616_512


ADAPTERS = "from trl import SFTConfig\nargs = SFTConfig(per_device_train_batch_size=1, max_length=128, r=8)"


@pytest.mark.parametrize(
    ("gigabytes", "stated", "doubtful"), [(80, {}, True), (192, {}, False), (80, {"precision": "mixed"}, False)]
)
def test_a_base_that_a_default_alone_makes_too_wide_for_any_card_may_be_in_16_bits(
    gigabytes: int, stated: dict[str, str], doubtful: bool
) -> None:
    """trl@6648832 examples/notebooks/sft_nemotron_3.ipynb loads the model itself, in bf16: 61.9 GiB on an A100."""
    run = {
        "n_gpus": 1,
        "gpu_mem_gib": gigabytes,
        "full_or_lora": "lora",
        "model": "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    }
    found = diagnose(ADAPTERS, {**run, **stated}, current(), ()).estimate
    assert found.gpu is not None
    assert ("precision" in found.missing) is doubtful
    weights = next(term for term in found.gpu.peak.terms if term.id == "actor_weights")
    assert (weights.high > 1.9 * weights.bytes) is doubtful
    assert found.gpu.verdict() == ("fits" if gigabytes == 192 else "close" if doubtful else "out")
