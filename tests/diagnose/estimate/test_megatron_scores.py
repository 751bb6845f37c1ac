"""Attention that Transformer Engine writes out, and dropouts of Megatron's own training."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.estimate import estimate
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Facts, Term
from diagnose.units import GIB

RUN = {"strategy": "megatron", "gradient_checkpointing": False, "flash_attention": False, "remove_padding": False}


def _term(run: Facts, id: str) -> Term:
    gpu = estimate(run).gpu
    assert gpu is not None
    update = gpu.phase("actor_update")
    assert update is not None
    return next(term for term in update.terms if term.id == id)


def test_scores_are_kept_in_16_bits_and_with_dropout_its_mask_and_what_is_left(facts: Any) -> None:
    plain, dropped = (_term(facts(**RUN, attention_dropout=on), "attention_scores") for on in (False, True))
    assert plain.how.endswith("2 B, and keys and values repeated to the heads of queries")
    assert "5 B" in dropped.how
    assert plain.high < dropped.bytes


def test_named_modules_leave_the_scores_of_every_layer(facts: Any) -> None:
    run = {**RUN, "gradient_checkpointing": "selective"}
    of_all, of_one = (
        _term(facts(**run, recompute_modules=names), "attention_scores").bytes for names in ("mlp", "core_attn")
    )
    assert of_all > 20 * of_one


def test_dropout_keeps_two_masks_a_layer(facts: Any) -> None:
    run = {**RUN, "flash_attention": True}
    with_masks, without = (_term(facts(**run, hidden_dropout=on), "activations").bytes for on in (True, False))
    assert with_masks > without


# NVIDIA/Megatron-LM d98e8a6 tests/functional_tests/test_cases/gpt/gpt3_7b_tp4_pp1_memory_speed, moe/…_selective_recompute_experimental
SEVEN = """torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
 --group-query-attention --num-query-groups 8 --untie-embeddings-and-output-weights --micro-batch-size 2 --global-batch-size 8 \\
 --seq-length 8192 --max-position-embeddings 8192 --vocab-size 131073 --mock-data --transformer-impl transformer_engine \\
 --tensor-model-parallel-size 4 --use-distributed-optimizer --bf16"""


def test_it_tells_what_megatrons_test_of_a_7b_allocates() -> None:
    found = diagnose(SEVEN, {"gpu_model": "H100"}, current(), ()).estimate
    assert found.torch_allocated == pytest.approx(53.22 * GIB, rel=0.03)
