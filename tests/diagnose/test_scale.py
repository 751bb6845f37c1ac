"""The estimator against steps at the size of real models: tests/data/measured_scale.toml, written by benchmarks/oracle_scale.py."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from diagnose.estimate.phases import reserved_bytes, trainer_bytes
from diagnose.types import Estimate, PhaseEstimate
from tests.runs import run_of

MEASURED = tomllib.loads((Path(__file__).parents[1] / "data" / "measured_scale.toml").read_text())
EVEN = [pytest.param(point, id=point["id"]) for point in MEASURED["point"] if point["mean"] == point["length"]]
POINTS = [pytest.param(point, id=point["id"]) for point in MEASURED["point"]]
STEP, RESERVED = 0.07, 0.12  # how far the estimate may be off
CARDS = 8


def _estimate(point: dict[str, Any]) -> Estimate:
    """Of TRL at a version whose loss is that of transformers, as it would be answered in the form."""
    answers = {
        "framework": "trl",
        "framework_version": "0.20.0",
        "algo": "sft",
        "model": point["model"],
        "gpu_model": "B300",
        "n_gpus": CARDS if point["sharded"] else 1,
        "strategy": "fsdp2" if point["sharded"] else "none",
        "precision": point["precision"],
        "full_or_lora": "lora" if point["lora_rank"] else "full",
        "micro_batch": point["rows"],
        "gradient_accumulation": point["accumulation"],
        "max_length": point["length"],
        "real_response_length": point["length"],
        "gradient_checkpointing": point["checkpointing"],
        "fused_optimizer": point["optimizer"] == "fused",
        "flash_attention": True,
    }
    if point["lora_rank"]:
        answers |= {"lora_rank": point["lora_rank"], "lora_layers": "all_linear", "adapter_dropout": False}
    return run_of("", answers).estimate


@pytest.mark.parametrize("phase", ["actor_update", "optimizer_step"])
@pytest.mark.parametrize("point", POINTS)
def test_the_peak_of_a_real_size_is_right(point: dict[str, Any], phase: str) -> None:
    gpu = _estimate(point).gpu
    assert gpu is not None
    assert trainer_bytes(gpu.phase(phase)) == pytest.approx(point[phase], rel=STEP)


@pytest.mark.parametrize("point", EVEN)
def test_what_the_allocator_keeps_of_rows_of_one_length_is_right(point: dict[str, Any]) -> None:
    gpu = _estimate(point).gpu
    assert gpu is not None
    assert max(map(_reserved_on_one_stream, gpu.phases)) == pytest.approx(point["reserved"], rel=RESERVED)


def _reserved_on_one_stream(phase: PhaseEstimate) -> int:
    """The replay behind these points has one stream; what a real card's other ones keep is in tests/data/trainers/card.toml."""
    return reserved_bytes(phase) - sum(term.high for term in phase.terms if term.id == "stream_blocks")
