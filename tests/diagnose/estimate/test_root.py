"""FSDP's outermost unit: what waits for its reduction, and in which type and in how many parts that comes."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.estimate import plan_of
from diagnose.estimate.moments import MOMENTS
from diagnose.knowledge import current
from tests.runs import run_of

TABLE, HEAD, LAYER = (
    152_064 * 3584,
    152_064 * 3584 + 3584,
    233_057_792,
)  # of Qwen2.5-7B; the last norm stands with the head
SFT = {"algo": "sft", "has_ref": None, "rollout_n": None, "strategy": "fsdp2", "max_length": 2048, "micro_batch": 1}


def bytes_of(run: Any, term: str, moment: str) -> int | None:
    plan = plan_of(run, None)
    assert plan is not None
    terms = dict(MOMENTS["actor_update"](plan))[moment]
    return next((one.bytes for one in terms if one.id == term), None)


def waiting(run: Any) -> int | None:
    return bytes_of(run, "waiting_gradient", "recomputing a layer")


@pytest.mark.parametrize("units", ["joined", "table"])
def test_the_heads_gradient_waits_for_the_end_of_the_backward_pass(facts: Any, record: Any, units: str) -> None:
    """torch 2.13 on two processes of gloo: with fully_shard around layers, or these and the embedding, one more tensor of the head's size
    lives in the first layer's backward pass than with the head as a unit of its own."""
    assert waiting(facts(record(outer_units=units, gather="fsdp_units"), **SFT)) == 2 * HEAD


@pytest.mark.parametrize(
    ("changes", "does"),
    [
        ({}, {"outer_units": "both"}),
        ({"full_or_lora": "lora"}, {}),
        ({"trained_layers": 4}, {}),
        ({"n_gpus": 1}, {}),
        ({"strategy": "deepspeed", "zero_stage": 3}, {"gather": "zero3"}),
    ],
)
def test_no_gradient_of_the_head_waits(facts: Any, record: Any, changes: dict[str, Any], does: dict[str, str]) -> None:
    assert waiting(facts(record(**{"gather": "fsdp_units", **does}), **{**SFT, **changes})) is None


def test_a_head_of_one_number_has_no_gradient_that_waits(facts: Any, record: Any) -> None:
    assert waiting(facts(record(gather="fsdp_units"), **{**SFT, "algo": "rm"})) == 0


def test_a_further_micro_batch_has_its_part_of_the_roots_gradient_beside_that_of_those_before(
    facts: Any, record: Any
) -> None:
    run = facts(record(gather="fsdp_units"), **SFT, gradient_accumulation=4)
    assert bytes_of(run, "root_gradient", "end of the backward pass") == (6 + 4 / 8) * (TABLE + HEAD)


def test_every_unit_is_freed_before_its_gradient_is_reduced(facts: Any, record: Any) -> None:
    """EasyR1's actor over eight ranks on the CPU: what is gathered is gone when the root unit's gradient stands in fp32."""
    run = facts(record(gather="fsdp_units"), **SFT)
    assert bytes_of(run, "gathers", "end of the backward pass") is None
    assert bytes_of(run, "gathers", "recomputing a layer") is not None


@pytest.mark.parametrize("strategy", ["fsdp", "fsdp2"])
def test_fsdp_at_stage_two_keeps_its_shards_and_gathers_all_units_once(facts: Any, record: Any, strategy: str) -> None:
    """EasyR1 with enable_full_shard=false on the CPU: SHARD_GRAD_OP holds between passes what FULL_SHARD holds."""
    full, half = (
        facts(record(gather="fsdp_units"), **{**SFT, "strategy": strategy, "zero_stage": stage}) for stage in (3, 2)
    )
    held = [plan_of(run, None).split.shard(3) for run in (full, half)]
    assert held[0] == held[1]
    assert bytes_of(half, "gathers", "recomputing a layer") == 2 * plan_of(half, None).shape.parameters


@pytest.mark.parametrize(
    ("units", "reduced", "size"),
    [
        ("joined", 4, 6 * (TABLE + HEAD)),
        ("joined", 2, 4 * (TABLE + HEAD)),
        ("table", 4, 6 * TABLE + 2 * HEAD),
        ("both", 4, 6 * TABLE),
        ("both", 2, 4 * TABLE),
    ],
)
def test_units_are_reduced_one_after_the_other_in_the_type_of_the_policy(
    facts: Any, record: Any, units: str, reduced: int, size: int
) -> None:
    run = facts(record(gather="fsdp_units", outer_units=units, reduce_bytes=reduced), **SFT, gradient_accumulation=1)
    assert bytes_of(run, "root_gradient", "end of the backward pass") == size
    assert bytes_of(run, "layer_gradient", "recomputing a layer") == (2 + reduced) * LAYER


def test_an_embedding_of_its_own_is_not_gathered_with_the_head(facts: Any, record: Any) -> None:
    joined, apart = (
        bytes_of(facts(record(gather="fsdp_units", outer_units=units), **SFT), "gathers", "recomputing a layer")
        for units in ("joined", "table")
    )
    assert (joined or 0) - (apart or 0) == 2 * TABLE


@pytest.mark.parametrize(
    ("text", "answers", "units", "reduced"),
    [
        ("accelerate launch --use_fsdp train.py # trl/trainer/", {"framework": "trl", "strategy": "fsdp"}, None, 2),
        ("verl==0.6.1", {"framework": "verl", "strategy": "fsdp2"}, "table", None),
        ("verl==0.7.1", {"framework": "verl", "strategy": "fsdp2"}, "both", None),
        ("", {"framework": "verl", "strategy": "fsdp"}, None, None),
        ("tune run full_finetune_distributed\ncustom_sharded_layers: ['tok_embeddings', 'output']", {}, "both", 2),
        ("tune run full_finetune_distributed\ncustom_sharded_layers: ['tok_embeddings']", {}, None, 2),
        ("", {"framework": "torchtitan"}, "both", None),
    ],
)
def test_each_trainer_shards_and_reduces_in_its_own_way(
    text: str, answers: dict[str, str], units: str | None, reduced: int | None
) -> None:
    run = {"n_gpus": 8, "model": "Llama-3.1-8B", "algo": "sft", "full_or_lora": "full", "max_length": 2048, **answers}
    plan = plan_of(run_of(text, run).facts, current().fallback)
    assert plan is not None
    assert (plan.does.get("outer_units"), plan.does.get("reduce_bytes")) == (units, reduced)


def test_the_first_layers_gradient_and_the_embeddings_come_after_it_has_been_made_again(
    facts: Any, record: Any
) -> None:
    """tests/data/trainers/swift-3.12.toml, seq-cls-full and rm-full: counted as there they lie 7 % too high."""
    on_one = {**SFT, "strategy": "none", "n_gpus": 1, "precision": "bf16", "gradient_accumulation": 1, "zero_stage": 0}
    there = bytes_of(facts(record(), **on_one), "actor_gradients", "recomputing the last layer")
    assert there == pytest.approx(2 * (7_615_616_512 - TABLE - LAYER), rel=0.001)
    adapters = {**on_one, "full_or_lora": "lora", "lora_rank": 8}
    there = bytes_of(facts(record(), **adapters), "actor_gradients", "recomputing the last layer")
    assert there == pytest.approx(4 * 20_185_088, rel=0.001)
