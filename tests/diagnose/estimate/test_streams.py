"""Streams of FSDP and of ZeRO-3: no block of one is given to another, so that counters show the most of each."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from diagnose.estimate import estimate, plan_of
from diagnose.estimate import terms_zero_streams as zero
from diagnose.estimate.terms_root import units
from diagnose.estimate.terms_streams import gather_stream, reduce_stream
from diagnose.knowledge import current
from diagnose.types import Facts
from diagnose.units import GIB
from tests.runs import run_of

TRAINERS = Path(__file__).parents[2] / "data" / "trainers"
CARD, EASYR1 = (
    tomllib.loads((TRAINERS / name).read_text(encoding="utf-8")) for name in ("card.toml", "card_easyr1.toml")
)
ON_STREAMS = [point for point in CARD["point"] if "streams_gib" in point and not point["id"].startswith("zero")]
ZERO = [point for point in CARD["point"] if "streams_gib" in point and point["id"].startswith("zero")]
# rows of one length in a step of several micro batches, and a card with room for all of it
EVEN = {
    "algo": "sft", "max_length": 4096, "prompt_length": None, "response_length": None, "has_ref": None, "train_batch_size": None,
    "rollout_n": None, "micro_batch": 1, "real_response_length": 4096, "gpu_mem_gib": 1000,
}  # fmt: skip


def _beside(run: Facts) -> int:
    """Most bytes that the streams of an update keep beside what is in use."""
    gpu = estimate(run).gpu
    assert gpu is not None
    return next((term.high for term in gpu.phase("actor_update").terms if term.id == "stream_blocks"), 0)


@pytest.mark.parametrize("point", ON_STREAMS, ids=lambda point: point["id"])
def test_each_stream_has_on_a_real_card_what_the_code_puts_there(point: dict[str, Any]) -> None:
    plan = plan_of(run_of(point["config"], point["answers"]).facts, None)
    reduces, gathers = point["streams_gib"][1], sum(point["streams_gib"][2:])
    # the loop of these points never waits for the card, so that FSDP 1 finds one layer more still taken
    last = 2 * units(plan)[1] if plan.values["strategy"] == "fsdp" else 0.0
    assert reduce_stream(plan, stay=True) / GIB == pytest.approx(reduces, rel=0.07)
    assert (gather_stream(plan) + last) / GIB == pytest.approx(gathers, rel=0.07)


@pytest.mark.parametrize("point", ZERO, ids=lambda point: point["id"])
def test_zero_3_has_on_each_stream_of_a_real_card_what_its_code_puts_there(point: dict[str, Any]) -> None:
    """To what the pieces between blocks come to, most where one matrix comes in eight micro batches: 0.8 GiB of 9.2."""
    plan = plan_of(run_of(f"{point['paste']}\n\n{point['config']}", point["answers"]).facts, None)
    _, gathers, reduces = point["streams_gib"]
    assert zero.reduce_stream(plan) / GIB == pytest.approx(reduces, abs=0.15)
    assert gathers - 0.85 < zero.gather_stream(plan) / GIB <= gathers


def test_zero_3_overlaps_unless_it_is_told_not_to(facts: Any, record: Any) -> None:
    sharded = {**EVEN, "strategy": "deepspeed", "zero_stage": 3}
    told, untold, not_so = (facts(record(gather="zero3"), **sharded, overlap_comm=said) for said in (True, None, False))
    assert _beside(told) == _beside(untold) > 2 * GIB
    assert _beside(not_so) == 0
    assert _beside(facts(record(gather="zero3"), **{**sharded, "n_gpus": 1})) == 0


def test_what_comes_from_the_host_and_a_further_micro_batch_lie_beside(facts: Any, record: Any) -> None:
    sharded = {**EVEN, "strategy": "deepspeed", "zero_stage": 3}
    on_card = plan_of(facts(record(gather="zero3"), **sharded), None)
    one = plan_of(facts(record(gather="zero3"), **sharded, gradient_accumulation=1), None)
    matrix = 2 * on_card.shape.embedding
    assert zero.gather_stream(on_card) - zero.gather_stream(one) == pytest.approx(matrix)
    on_host = plan_of(facts(record(gather="zero3"), **sharded, param_on_cpu=True, optimizer_on_cpu=True), None)
    assert zero.gather_stream(on_host) - zero.gather_stream(on_card) == pytest.approx(matrix / 8)
    assert zero.reduce_stream(on_host) - zero.reduce_stream(on_card) == pytest.approx(matrix / 8)
    adapters = plan_of(facts(record(gather="zero3"), **sharded, full_or_lora="lora", lora_rank=16), None)
    assert zero.reduce_stream(adapters) == 0


def test_nothing_is_beside_where_nothing_is_gathered_and_reduced_on_streams(facts: Any) -> None:
    assert _beside(facts(**EVEN)) > 0
    for other in ({"strategy": "ddp"}, {"strategy": "none", "n_gpus": 1}, {"n_gpus": 1}):
        assert _beside(facts(**{**EVEN, **other})) == 0


def test_fsdp_1_has_the_roots_whole_gradient_on_the_stream_that_reduces_where_its_type_changes(
    facts: Any, record: Any
) -> None:
    plan = plan_of(facts(**EVEN), None)
    shards = 4 * plan.trained / 8
    root, table = units(plan)[0], 4 / 8
    assert reduce_stream(plan, stay=True) == pytest.approx(shards + 4 * root + table * root)
    same = plan_of(facts(record(reduce_bytes=2), **EVEN), None)
    assert reduce_stream(same, stay=True) == pytest.approx(shards + 2 * root + root / 4)
    second = plan_of(facts(**{**EVEN, "strategy": "fsdp2"}), None)
    assert reduce_stream(second, stay=True) == pytest.approx(shards + table * root)


def test_adapters_and_gradients_on_the_host_have_no_shards_there(facts: Any) -> None:
    adapters = plan_of(facts(**{**EVEN, "full_or_lora": "lora", "lora_rank": 16}), None)
    assert reduce_stream(adapters, stay=True) == 0
    whole = plan_of(facts(**EVEN), None)
    gone = reduce_stream(whole, stay=True) - reduce_stream(whole, stay=False)
    assert gone == pytest.approx(4 * whole.trained / 8)


def test_units_that_stay_gathered_are_all_on_the_stream_of_fsdp_1(facts: Any) -> None:
    kept = plan_of(facts(**{**EVEN, "zero_stage": 2}), None)
    assert gather_stream(kept) == pytest.approx(2 * kept.split.whole)


def test_counters_end_below_the_card_and_no_run_fails_by_them(facts: Any) -> None:
    large, small = (estimate(facts(**{**EVEN, "gpu_mem_gib": size})) for size in (1000, 32))
    assert large.gpu is not None
    assert small.gpu is not None
    assert small.torch_reserved < large.torch_reserved
    assert small.torch_allocated == large.torch_allocated
    assert small.device_used < small.gpu.capacity
    peaks = [{term.id: term.bytes for term in one.gpu.phase("actor_update").terms} for one in (large, small)]
    assert peaks[0]["stream_blocks"] == peaks[1]["stream_blocks"] == 0


# what a model with pictures has outside of its towers' blocks: what joins patches, their embedding, and of Qwen3-VL their positions
OUTSIDE = {"easyr1-7b-amp-1": 261.1e6, "easyr1-32b-bf16-1": 283.1e6, "easyr1-30b-a3b-bf16-1": 127.1e6}


@pytest.mark.parametrize("point", EASYR1["point"], ids=lambda point: point["id"])
def test_a_trainers_own_loop_has_the_root_twice_and_three_layers_on_the_stream_that_gathers(
    point: dict[str, Any],
) -> None:
    knowledge = current()
    plan = plan_of(run_of(f"{point['paste']}\n\n{point['config']}", point["answers"], knowledge).facts, None)
    towers = 2 * 2 * OUTSIDE[point["id"]]  # of the root, which is there twice in 16 bits
    assert (gather_stream(plan) + towers) / GIB == pytest.approx(sum(point["streams_gib"][2:]), rel=0.07)
