"""What the step of the optimizer needs beside its state, as far as the optimizer of a configuration is known."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from diagnose.estimate.sharding import parameter_bytes
from diagnose.types import Term
from diagnose.units import GIB
from diagnose.vocabulary import Value
from tests.runs import run_of

ANSWERS = {"gpu_model": "A100", "gpu_mem_gib": 80, "n_gpus": 1}
RECIPE = """model:
  _component_: torchtune.models.llama2.llama2_7b
dataset:
  _component_: torchtune.datasets.alpaca_dataset
batch_size: 2
optimizer:
  _component_: {optimizer}
optimizer_in_bwd: False
dtype: bf16
"""
UNKNOWN = {"model": "Llama-2-7b", "algo": "sft", "full_or_lora": "full", "precision": "bf16", "strategy": "none"}


def term(text: str, answers: dict[str, object], id: str) -> Term | None:
    found = run_of(text, {**ANSWERS, **answers}).estimate  # type: ignore[dict-item]
    assert found is not None
    assert found.gpu is not None
    phase = found.gpu.phase("optimizer_step")
    assert phase is not None
    return next((one for one in phase.terms if one.id == id), None)


@pytest.mark.parametrize(
    ("optimizer", "bytes_each"),
    [("torch.optim.AdamW\n  fused: True", 4), ("bitsandbytes.optim.AdamW8bit", 2)],
)
def test_an_optimizer_that_takes_one_tensor_at_a_time_needs_nothing_beside_its_state(
    optimizer: str, bytes_each: int
) -> None:
    recipe = RECIPE.format(optimizer=optimizer)
    answers = {"model": "Llama-2-7b", "full_or_lora": "full", "framework": "torchtune"}
    state = term(recipe, answers, "actor_optimizer")
    assert state is not None
    assert state.bytes == pytest.approx(bytes_each * 6.74e9, rel=0.01)
    assert term(recipe, answers, "adam_temporaries") is None


@pytest.mark.parametrize("optimizer", ["rmsprop", "rmsprop_bnb", "adagrad"])
def test_an_optimizer_of_squares_alone_keeps_one_number_a_parameter(optimizer: str) -> None:
    """torch 2.6 optim/rmsprop.py, adagrad.py; transformers v4.57.1 src/transformers/trainer.py: get_optimizer_cls_and_kwargs."""
    values: dict[str, Value] = {"optimizer": optimizer, "precision": "mixed"}
    assert parameter_bytes(values, {}, own_precision=False).optimizer == 4


def test_of_an_unknown_trainer_the_band_holds_a_fused_step_too() -> None:
    step = term("", UNKNOWN, "adam_temporaries")
    assert step is not None
    assert step.low == 0 < step.bytes == step.high
    assert term("", {**UNKNOWN, "fused_optimizer": True}, "adam_temporaries") is None


# --- managed memory, which the driver moves between card and host: bitsandbytes 0.49.2 functional.py: get_paged
class Pool(NamedTuple):
    verdict: str
    card: float
    most: float
    allocated: float


def _paged(gpu_mem_gib: int, optimizer: str) -> Pool:
    answers = {"model": "Llama-2-7b", "full_or_lora": "full", "framework": "torchtune", "gpu_mem_gib": gpu_mem_gib}
    text = RECIPE.format(optimizer=optimizer)
    found = run_of(text, {**answers, "n_gpus": 1, "max_length": 512}).estimate
    assert found is not None
    assert found.gpu is not None
    assert found.torch_allocated is not None
    peak = found.gpu.peak
    return Pool(found.gpu.verdict(), peak.bytes / GIB, peak.high / GIB, found.torch_allocated / GIB)


def test_paged_state_may_be_on_the_card_and_is_never_torchs() -> None:
    paged, plain = _paged(80, "bitsandbytes.optim.PagedAdamW8bit"), _paged(80, "bitsandbytes.optim.AdamW8bit")
    assert plain.allocated - paged.allocated == pytest.approx(2 * 6.74e9 / GIB, rel=0.01)
    assert paged.most - paged.card > 2 * 6.74e9 / GIB


def test_fp32_masters_beside_paged_moments_stay_on_the_card() -> None:
    run = {
        "framework": "llamafactory",
        "model": "Llama-3.1-8B",
        "algo": "sft",
        "full_or_lora": "full",
        "strategy": "deepspeed",
    }
    run |= {
        "zero_stage": 2,
        "n_gpus": 8,
        "gpu_mem_gib": 80,
        "micro_batch": 1,
        "max_length": 512,
        "optimizer": "paged_adamw_32bit",
    }
    found = run_of("", run).estimate
    assert found.gpu is not None
    terms = {term.title: term.bytes for term in found.gpu.phase("optimizer_step").terms}
    assert terms["fp32 masters"] == pytest.approx(4 * 8.03e9 / 8, rel=0.01)
    assert terms["Adam state"] == 0


def test_no_run_fails_by_paged_state() -> None:
    assert _paged(40, "bitsandbytes.optim.AdamW8bit").verdict == "close"
    assert _paged(40, "bitsandbytes.optim.PagedAdamW8bit").verdict == "fits"


# one optimizer trains policy and value model: torchtune@bd2a0fc recipes/ppo_full_finetune_single_device.py: _setup_optimizer
def test_a_critic_shares_pages_and_dropped_gradients_with_its_actor() -> None:
    run = {
        "framework": "torchtune",
        "model": "Mistral-7B-Instruct-v0.2",
        "algo": "ppo",
        "full_or_lora": "full",
        "n_gpus": 1,
    }
    run |= {"gpu_mem_gib": 80, "micro_batch": 8, "max_length": 512, "response_length": 58, "precision": "bf16"}
    paged = run_of("", {**run, "optimizer": "paged_adamw", "gradients_by_layer": True}).estimate
    plain = run_of("", {**run, "optimizer": "adamw"}).estimate
    assert paged.gpu is not None
    assert plain.gpu is not None
    sizes = [
        {term.id: term.bytes / GIB for term in one.gpu.phase("critic").terms if term.id.startswith("critic_")}
        for one in (plain, paged)
    ]
    assert sizes[0]["critic_optimizer"] > 25
    assert sizes[0]["critic_gradients"] > 12
    assert sizes[1]["critic_optimizer"] == 0
    assert sizes[1]["critic_gradients"] < 1


# --- bytes a parameter: transformers 4.51 training_args.py: OptimizerNames; bitsandbytes 0.49.2 optim/lion.py, optim/adamw.py
@pytest.mark.parametrize(
    ("optimizer", "strategy", "masters", "moments"),
    [
        ("adamw_torch", "fsdp", 0, 8),
        ("paged_adamw_32bit", "deepspeed", 4, 8),
        ("paged_adamw_8bit", "deepspeed", 4, 2),
        ("paged_lion_32bit", "fsdp", 0, 4),
        ("paged_lion_32bit", "deepspeed", 4, 4),
        ("sgd", "megatron", 4, 0),
        ("lomo", "deepspeed", 0, 0),
    ],
)
def test_an_optimizer_is_its_masters_and_its_moments(
    optimizer: str, strategy: str, masters: float, moments: float
) -> None:
    precision = "megatron" if strategy == "megatron" else "bf16" if strategy == "deepspeed" else "fp32"
    run: dict[str, Value] = {"optimizer": optimizer, "strategy": strategy, "precision": precision}
    each = parameter_bytes(run, {}, own_precision=False)
    assert (each.masters, each.moments, each.optimizer) == (masters, moments, masters + moments)
