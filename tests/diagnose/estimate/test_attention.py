"""Which kernel takes the heads of queries, keys and values, and what is written out where none does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diagnose.estimate import estimate_pool, plan_of
from diagnose.estimate.tokens import take
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Fact, Term

SFT = {
    "algo": "sft",
    "n_gpus": 1,
    "strategy": "none",
    "has_ref": None,
    "rollout_n": None,
    "remove_padding": None,
    "flash_attention": None,
    "micro_batch": 1,
    "prompt_length": None,
    "response_length": None,
    "max_length": 2048,
    "real_response_length": 2048,
    "gradient_checkpointing": False,
}


def scores(run: Any, transformers: str | None = "4.57.3") -> Term | None:
    versions = {"transformers": Fact("", transformers, "read")} if transformers else {}
    found = estimate_pool(plan_of(replace(run, versions=versions), None), "gpu", "actor_update")
    assert found.gpu is not None
    return next((term for term in found.gpu.phases[0].terms if term.id == "attention_scores"), None)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"precision": "bf16"}, "FlashAttention takes groups"),
        ({"precision": "fp32", "autocast": True}, "autocast makes them 16 bits"),
        ({"precision": "fp32", "micro_batch": 2}, "a mask goes with them, and transformers repeats keys and values"),
        ({"precision": "fp32", "algo": "grpo", "rollout_n": 8}, "rows are padded to the longest of all passes"),
        ({"precision": "fp32", "strategy": "megatron"}, "Transformer Engine has kernels of its own"),
    ],
)
def test_no_scores_are_written_out_where_a_kernel_takes_the_heads(
    facts: Any, changes: dict[str, Any], why: str
) -> None:
    assert scores(facts(**{**SFT, **changes})) is None, why


def test_no_scores_are_written_out_of_heads_that_are_not_grouped(facts: Any) -> None:
    assert scores(facts(model=current().models["llama-2-7b"], **SFT, precision="fp32")) is None


def test_no_scores_are_written_out_where_the_trainer_repeats_keys_and_values(facts: Any, record: Any) -> None:
    assert scores(facts(record(grouped_heads="trainer"), **SFT, precision="fp32")) is None


@pytest.mark.parametrize("older", ["4.46.3", "4.53.3"])
def test_transformers_repeated_keys_and_values_itself_before_4_54(facts: Any, older: str) -> None:
    assert scores(facts(**SFT, precision="fp32"), older) is None


@pytest.mark.parametrize(("precision", "card"), [("fp32", "a100"), ("fp32", "t4"), ("fp16", "t4"), ("fp16", "v100")])
def test_grouped_heads_have_no_kernel_in_fp32_nor_on_cards_before_ampere(facts: Any, precision: str, card: str) -> None:
    """28 heads of 128, 4 of keys: torch 2.13 on the CPU keeps the fp32 softmax, and query, key and value of all heads in fp32.

    ``scaled_dot_product_attention`` with ``enable_gqa`` and ``SDPBackend.MATH``: 4.44 to 5.00 bytes a score of 8 heads of 32, of which
    a mask of 4 bytes over all heads is 0.5 and the rest goes by the token.
    """
    found = scores(facts(gpu=current().gpus[card], **SFT, precision=precision))
    assert found is not None
    q, k = 28 * 128, 4 * 128
    each = 8 * (q - k) if precision == "fp32" else 10 * q - 4 * k
    assert found.bytes == 28 * (4 * 28 * 2048**2 + each * 2048)
    assert found.low == 28 * 4 * 28 * 2048**2


def test_scores_may_be_none_where_nothing_tells_the_version(facts: Any) -> None:
    told, untold = (scores(facts(**SFT, precision="fp32"), version) for version in ("4.57.3", None))
    assert told is not None
    assert untold is not None
    assert (untold.low, untold.bytes) == (0, told.bytes)


def test_a_card_without_the_kernel_is_not_told_to_use_it() -> None:
    """Dao-AILab/flash-attention README: Ampere and newer, fp16 and bf16."""
    lever = current().levers["attention.flash"]
    old = {gpu.title for gpu in current().gpus.values() if gpu.capability is not None}
    assert old == set(lever.when["gpu_model"]["not"])
    text = "torch.OutOfMemoryError: CUDA out of memory.\nTrainer: trl sft\n"
    answers = {
        "algo": "sft",
        "n_gpus": 1,
        "gpu_model": "A100",
        "gpu_mem_gib": 80,
        "model": "Qwen2.5-7B",
        "precision": "fp32",
    }
    answers |= {
        "phase": "actor_update",
        "micro_batch": 1,
        "max_length": 16384,
        "full_or_lora": "lora",
        "autocast": False,
    }
    told = diagnose(text, answers, current(), ())
    assert all(one.lever.slug != "attention.flash" for one in told.prescriptions)


def test_fewer_long_rows_fill_a_pass_that_is_packed(facts: Any) -> None:
    """Scores go with its tokens × the length of a row: as many rows as fit of usual ones are not all the longest."""
    packed = {
        "algo": "grpo",
        "flash_attention": False,
        "dynamic_batch": True,
        "micro_tokens": 4096,
        "remove_padding": True,
    }
    sizes = {
        "rollout_n": 8,
        "train_batch_size": 256,
        "prompt_length": 2048,
        "response_length": 2048,
        "real_response_length": None,
    }
    run = facts(**{**SFT, **packed, **sizes})
    plan = plan_of(run, None)
    assert plan is not None
    one, found = take(plan, "update"), scores(run)
    assert found is not None
    assert one.packed
    assert one.tokens.mid == one.tokens.high
    assert found.high == pytest.approx(found.bytes * one.row.high / one.row.mid, rel=0.05)
