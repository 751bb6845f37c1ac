"""Buffers of NCCL: of each group that a process talks in, and of each peer of an all-to-all."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.types import Term
from tests.runs import run_of

CHANNEL = 512 * 2**10 + 4_915_200 + 4 * 2**20  # defaults of NCCL: LL, LL128, Simple
DENSE = "megatron sft --model Qwen/Qwen2.5-7B-Instruct --max_length 2048 --micro_batch_size 1"
SPARSE = "megatron sft --model Qwen/Qwen3-30B-A3B --max_length 2048 --micro_batch_size 1"


def _nccl(command: str, **answers: Any) -> Term | None:
    run = run_of(command, {"gpu_mem_gib": 80, **answers})
    assert run.estimate.gpu is not None
    found = run.estimate.gpu.phase("actor_update")
    assert found is not None
    return next((term for term in found.terms if term.id == "nccl"), None)


@pytest.mark.parametrize("command", [DENSE, "swift sft --model Qwen/Qwen2.5-7B-Instruct"])
def test_a_card_by_itself_has_none(command: str) -> None:
    assert _nccl(command, n_gpus=1) is None


@pytest.mark.parametrize(
    ("flags", "gpus", "groups"),
    [
        ("", 8, 3),  # all, and the data with and without the context
        ("--tensor_model_parallel_size 8", 8, 3),  # all, tensors, one model
        ("--tensor_model_parallel_size 2 --pipeline_model_parallel_size 2", 8, 7),  # pipeline and table beside both
        ("--tensor_model_parallel_size 2 --context_parallel_size 2", 8, 6),
    ],
)
def test_each_way_to_share_the_work_is_a_group(flags: str, gpus: int, groups: int) -> None:
    term = _nccl(f"{DENSE} {flags}", n_gpus=gpus)
    assert term is not None
    assert (term.low, term.bytes, term.high) == tuple(groups * number * CHANNEL for number in (4, 16, 32))


def test_experts_add_their_groups_and_every_peer_of_the_all_to_all() -> None:
    """All; data twice; experts, and these with their parts; what has the same experts; what the router's loss is averaged over."""
    term = _nccl(f"{SPARSE} --expert_model_parallel_size 4", n_gpus=8)
    assert term is not None
    assert term.bytes == (7 + 3) * 16 * CHANNEL


def test_peers_of_other_nodes_share_their_buffers() -> None:
    term = _nccl(f"{SPARSE} --expert_model_parallel_size 32", n_gpus=32, n_nodes=4)
    assert term is not None
    assert term.bytes == (6 + 7) * 16 * CHANNEL


def test_a_trainer_with_few_groups_has_the_assumed_band() -> None:
    term = _nccl("swift sft --model Qwen/Qwen2.5-7B-Instruct --deepspeed zero3", n_gpus=8)
    assert term is not None
    assert term.high == 1.5 * 2**30
