"""What a loss in chunks makes at a time, and what FSDP2 gathers on a card of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diagnose.estimate import estimate
from diagnose.estimate.terms_logits import chunk_bytes
from diagnose.knowledge.records import Detect, Fork
from diagnose.types import Facts, Term
from diagnose.units import GIB
from tests.runs import run_of

SFT = {"algo": "sft", "has_ref": None, "rollout_n": None, "micro_batch": 2, "n_gpus": 1, "strategy": None}


def _terms(run: Facts) -> dict[str, Term]:
    gpu = estimate(run).gpu
    assert gpu is not None
    update = gpu.phase("actor_update")
    assert update is not None
    return {term.id: term for term in update.terms}


@pytest.mark.parametrize(
    ("whole", "free", "made"), [(1, 40, 1), (9, 40, 4), (9, 6, 3), (9, -2, 0)], ids=["all", "target", "half", "none"]
)
def test_a_chunk_is_the_least_of_all_logits_the_target_and_half_of_what_is_free(
    whole: float, free: float, made: float
) -> None:
    assert chunk_bytes(whole=whole, target=4, free=free) == made


def test_a_number_of_chunks_that_is_rounded_to_the_nearest_four_leaves_twice_the_target_in_one() -> None:
    """unslothai/unsloth-zoo before d9fe1f43: round(0.5) is 0, so that 8 GiB at a target of 4 stay in one chunk."""
    assert chunk_bytes(whole=8, target=4, free=40, nearest=True) == 8
    assert chunk_bytes(whole=20, target=1000, free=12, nearest=True) == 12


UNSLOTH = """Tesla T4
{}from unsloth import FastLanguageModel
model, tokenizer = FastLanguageModel.from_pretrained("unsloth/gemma-3-270m-it", max_seq_length = 8192, load_in_4bit = False)
trainer = SFTTrainer(model = model, args = SFTConfig(per_device_train_batch_size = 4, packing = True))
"""


@pytest.mark.parametrize(
    ("banner", "least", "most"),
    [
        ("==((====))==  Unsloth 2025.12.8: Fast Gemma3 patching.\n", 11, 15),
        ("==((====))==  Unsloth 2026.7.1: Fast Gemma3 patching.\n", 4, 4),
        ("==((====))==  Unsloth 2025.3.19: Fast Gemma3 patching.\n", 4, 4),
        ("", 4, 4),
    ],
    ids=["half of what is free", "at most 4", "older code", "untold"],
)
def test_a_fork_of_an_old_release_does_as_it_did(banner: str, least: float, most: float) -> None:
    gpu = run_of(UNSLOTH.format(banner), {"algo": "sft"}).estimate.gpu
    assert gpu is not None
    update = gpu.phase("actor_update")
    assert update is not None
    (chunk,) = (term for term in update.terms if term.id == "logits_chunk")
    assert least * GIB <= chunk.bytes <= most * GIB


def test_a_fork_that_cuts_its_chunks_by_bytes_holds_one_of_them(facts: Any, record: Any) -> None:
    fork = Fork(id="cuts", title="Cuts", source="", detect=Detect(), says="", does={"loss_chunk_gib": 4})
    run = facts(
        record(), **SFT, full_or_lora="lora", logits_chunked=True, gpu_mem_gib=80, max_length=32768, dynamic_batch=True
    )
    cuts = replace(run, fork=fork, framework=replace(run.framework, forks=(fork,)))
    assert "logits_chunk" not in _terms(run)
    assert _terms(cuts)["logits_chunk"].bytes == 4 * GIB


def test_fsdp2_gathers_on_a_single_card_where_its_weights_are_fp32(facts: Any) -> None:
    run = {**SFT, "zero_stage": 3, "precision": "mixed", "full_or_lora": "full"}
    first, second = (_terms(facts(**{**run, "strategy": strategy})) for strategy in ("fsdp", "fsdp2"))
    assert second["gathers"].title == "gathered weights"
    assert first["gathers"].title == "weights cast to bf16"
    assert second["checkpoints"].bytes == pytest.approx(first["checkpoints"].bytes / 2)


LIGER = "swift sft --model Qwen/Qwen2.5-7B-Instruct --train_type lora --max_length 4096 --use_liger_kernel true {}\n8 x A100 80GB"


@pytest.mark.parametrize(
    ("more", "whole"),
    [
        ("", False),
        ("--loss_scale last_round", False),
        ("--loss_scale ignore_empty_think", False),
        ("--loss_scale hermes", True),
        ("--loss_scale last_round+react", True),
        ("--loss_scale hermes ms-swift==3.1.0", False),
        ("--enable_dft_loss true", True),
        ("--label_smoothing_factor 0.1", True),
        ("--label_smoothing_factor 0", False),
        ("--sequence_parallel_size 2", True),
        ("--sequence_parallel_size 1", False),
    ],
)
def test_a_loss_of_the_trainers_own_makes_the_logits_that_ligers_would_not(more: str, whole: bool) -> None:
    """ms-swift swift/trainers/seq2seq_trainer.py: compute_loss takes the labels away before the model's forward."""
    gpu = run_of(LIGER.format(more)).estimate.gpu
    assert gpu is not None
    found = gpu.phase("actor_update")
    assert found is not None
    assert ("logits" in {term.id for term in found.terms}) is whole


TORCHTUNE = """tune run full_finetune_single_device --config llama3_2/3B_full_single_device {} dataset.packed=True
tokenizer:
  max_seq_len: 4096
model:
  _component_: torchtune.models.llama3_2.llama3_2_3b
batch_size: 2
optimizer:
  _component_: torch.optim.AdamW
gradient_accumulation_steps: 1
dtype: bf16
"""
CHUNKED = "loss=torchtune.modules.loss.CEWithChunkedOutputLoss"


@pytest.mark.parametrize(
    ("flags", "gib"),
    [
        ("enable_activation_checkpointing=False", 60.0),
        ("enable_activation_checkpointing=False compile=True", 51.0),
        (f"enable_activation_checkpointing=False compile=True {CHUNKED}", 42.9),
        (f"enable_activation_checkpointing=True compile=True {CHUNKED} optimizer_in_bwd=True", 23.1),
    ],
)
def test_compiled_layers_and_a_loss_in_chunks_keep_as_much_less_as_torchtune_measured(flags: str, gib: float) -> None:
    """Peak of active memory by README.md of meta-pytorch/torchtune@1814feb, "Optimization flags"."""
    answers = {"model": "Llama-3.2-3B", "full_or_lora": "full", "gpu_mem_gib": 80, "n_gpus": 1}
    found = run_of(TORCHTUNE.format(flags), answers).estimate
    assert found is not None
    assert found.torch_allocated == pytest.approx(gib * GIB, rel=0.05)


def test_gradients_go_to_the_host_with_the_optimizer_as_they_come(facts: Any) -> None:
    run = {**SFT, "full_or_lora": "full", "strategy": "fsdp2", "zero_stage": 3, "gradient_accumulation": 1}
    here, away = (_terms(facts(**{**run, "n_gpus": 8}, optimizer_on_cpu=on)) for on in (False, True))
    assert "actor_gradients" in here
    assert "actor_gradients" not in away
