"""The loss that balances the experts: when it is taken, and what it holds at the end of the forward pass."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.estimate import plan_of
from diagnose.estimate.moments import MOMENTS
from diagnose.estimate.terms_router import balancing_bytes, balancing_loss
from diagnose.estimate.tokens import take
from diagnose.knowledge import current
from diagnose.types import Term
from tests.runs import run_of

KNOWN = current()
SFT = "swift sft --model {model} --tuner_type lora --max_length 4096 --per_device_train_batch_size 4 --deepspeed zero3"
SPARSE, ASKED = SFT.format(model="Qwen/Qwen3-30B-A3B"), " --router_aux_loss_coef 1e-3"
ROWS = {"real_response_length": 1000, "longest_response_length": 1000}
TOKENS, LAYERS, ACTIVE, EXPERTS = 4 * 1000, 48, 8, 128


def _term(text: str, before: str = "", **answers: Any) -> Term | None:
    facts = run_of(before + text, {"n_gpus": 4, "gpu_mem_gib": 80, **ROWS, **answers}, KNOWN).facts
    plan = plan_of(facts, KNOWN.fallback)
    assert plan is not None
    return next(iter(balancing_loss(plan, take(plan, "update"))), None)


@pytest.mark.parametrize(
    "text",
    [
        SPARSE,
        f"{SPARSE} --router_aux_loss_coef 0",
        SFT.format(model="Qwen/Qwen3-8B") + ASKED,
        SFT.format(model="deepseek-ai/DeepSeek-V3") + ASKED,
    ],
)
def test_nothing_is_held_without_that_loss_or_without_experts(text: str) -> None:
    assert _term(text) is None


def test_a_later_transformers_counts_layer_by_layer() -> None:
    assert _term(SPARSE + ASKED, before="transformers==5.16.0\n") is None
    assert _term(SPARSE + ASKED, before="transformers==5.15.1\n") is not None


@pytest.mark.parametrize(("flags", "each"), [("", 24), (" --padding_free true --attn_impl flash_attn", 12)])
def test_the_choices_of_all_layers_are_written_out_and_once_more_with_a_mask(flags: str, each: int) -> None:
    """transformers v4.57.1 models/qwen3_moe/modeling_qwen3_moe.py: load_balancing_loss_func"""
    term = _term(SPARSE + ASKED + flags, before="transformers==4.57.1\n")
    assert term is not None
    assert term.low == term.bytes == each * TOKENS * LAYERS * ACTIVE * EXPERTS
    assert term.bytes == balancing_bytes(tokens=TOKENS, layers=48, active=8, experts=128, bytes_each=each)


def test_a_run_of_no_known_version_may_go_without() -> None:
    term = _term(SPARSE + ASKED)
    assert term is not None
    assert (term.low, term.bytes) == (0, 24 * TOKENS * LAYERS * ACTIVE * EXPERTS)


def test_it_is_a_moment_of_its_own_after_the_logits() -> None:
    facts = run_of(SPARSE + ASKED, {"n_gpus": 4, "gpu_mem_gib": 80, **ROWS}, KNOWN).facts
    plan = plan_of(facts, KNOWN.fallback)
    assert plan is not None
    (moment,) = (terms for name, terms in MOMENTS["actor_update"](plan) if name == "loss on the routers")
    sizes = {term.id: term.bytes for term in moment}
    assert sizes["logits"] == 6 * TOKENS * plan.model.vocab
    assert "router_loss" in sizes


@pytest.mark.parametrize(
    ("version", "algo", "taken"), [("1.6", "SFT", False), ("1.7", "SFT", True), ("1.7", "DPO", False)]
)
def test_a_trainer_may_take_it_unless_it_is_set_off(version: str, algo: str, taken: bool) -> None:
    """huggingface/trl v1.7.0 trl/trainer/sft_trainer.py: aux_loss_enabled; v1.8.0 dpo_trainer.py"""
    text = f"from trl import {algo}Config, {algo}Trainer\nargs = {algo}Config(per_device_train_batch_size=4, max_length=4096{{}})"
    answers = {"model": "Qwen3-30B-A3B", "framework_version": version}
    assert (_term(text.format(""), **answers) is not None) is taken
    assert _term(text.format(", router_aux_loss_coef=0.0"), **answers) is None
