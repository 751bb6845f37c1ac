"""Runs on Megatron-Core as the shipped records describe them: a command in, the bytes of its terms out."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis, Term

GPUS = {"n_gpus": 8, "gpu_mem_gib": 80}
PACKED = "--packing true --max_length 8192 --micro_batch_size 1 --recompute_granularity full"
SFT = f"megatron sft --model Qwen/Qwen2.5-7B-Instruct {PACKED} --sequence_parallel true"


def _run(command: str, **answers: Any) -> Diagnosis:
    return diagnose(command, {**GPUS, **answers}, current(), ())


def _terms(run: Diagnosis, phase: str = "actor_update") -> dict[str, Term]:
    assert run.estimate.gpu is not None
    found = run.estimate.gpu.phase(phase)
    assert found is not None
    return {term.id: term for term in found.terms}


@pytest.mark.parametrize(
    ("flags", "each"),
    [("--cross_entropy_loss_fusion true", 10), ("--cross_entropy_loss_fusion false", 6), ("", 10)],
)
def test_the_compiled_loss_keeps_a_copy_of_the_softmax(flags: str, each: int) -> None:
    """fp32 softmax, the copy into which the labels are written, and the gradient in bf16; without it the copy is not made."""
    assert _terms(_run(f"{SFT} {flags}"))["logits"].bytes == each * 8192 * 152_064


def test_the_loss_was_not_compiled_by_default_before_version_4() -> None:
    assert _terms(_run(SFT, framework_version="3.9.0"))["logits"].bytes == 6 * 8192 * 152_064
