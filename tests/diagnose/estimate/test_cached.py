"""What the caching allocator keeps beyond what is in use: a little of what is held, pieces of the rest, blocks of other lengths."""

from __future__ import annotations

import json
import statistics
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diagnose.estimate import estimate, plan_of
from diagnose.estimate.term import exactly
from diagnose.estimate.terms_fixed import GROWTH, SLACK_WORK, most_cached
from diagnose.types import Facts

DATA_SET = {
    "algo": "sft", "max_length": 2048, "prompt_length": None, "response_length": None, "has_ref": None, "train_batch_size": None,
    "rollout_n": None, "micro_batch": 1, "real_response_length": 500, "longest_response_length": 1900, "gpu_mem_gib": 1000,
    "strategy": "ddp",
}  # fmt: skip
DATA = Path(__file__).parents[2] / "data"
REPLAYED = tomllib.loads((DATA / "replayed_allocator.toml").read_text(encoding="utf-8"))
RUNS = REPLAYED["run"]
CARD = {one["id"]: one for one in tomllib.loads((DATA / "trainers" / "card.toml").read_text(encoding="utf-8"))["point"]}


def _kept(run: Facts) -> tuple[int, int]:
    """Bytes kept in blocks of other lengths: the middle, and how far the band goes."""
    gpu = estimate(run).gpu
    assert gpu is not None
    phase = gpu.phase("actor_update")
    assert phase is not None
    return phase.cached, next((term.high for term in phase.terms if term.id == "allocator_growth"), 0)


@pytest.mark.parametrize(
    "same",
    [
        {"algo": "pretrain"},
        {"expandable_segments": True},
        {"logits_chunked": True},
        {"real_response_length": 2048, "longest_response_length": None},
    ],
)
def test_nothing_is_kept_for_other_lengths_where_all_are_one_or_segments_grow(facts: Any, same: dict[str, Any]) -> None:
    assert _kept(facts(**{**DATA_SET, **same})) == (0, 0)


@pytest.mark.parametrize(
    "unsure",
    [{"algo": "dpo"}, {"real_response_length": None, "longest_response_length": None}],
    ids=["pairs", "unknown"],
)
def test_only_the_band_holds_it_for_pairs_and_where_nothing_is_known_of_the_rows(
    facts: Any, unsure: dict[str, Any]
) -> None:
    middle, high = _kept(facts(**{**DATA_SET, **unsure}))
    assert middle == 0 < high


def test_rows_of_a_known_data_set_leave_blocks_of_two_and_a_half_times_the_longest_ones_logits(facts: Any) -> None:
    logits = 8 * 1900 * 152064
    assert _kept(facts(**DATA_SET)) == (2.5 * logits, 5 * logits)


@pytest.mark.parametrize(("rule", "grows"), [("dropped", True), ("cut", False)])
def test_where_most_rows_are_above_the_limit_it_matters_whether_they_are_dropped_or_cut(
    facts: Any, record: Any, rule: str, grows: bool
) -> None:
    plain = record()
    entry = replace(plain.behaviours[0], when={}, does={"long_rows": rule})
    framework = replace(plain, behaviours=(*plain.behaviours, entry))
    long = {**DATA_SET, "real_response_length": 3234, "longest_response_length": 19548}
    assert (_kept(facts(framework, **long))[0] > 0) is grows


def test_sampled_rows_differ_in_length(facts: Any) -> None:
    assert _kept(facts(gpu_mem_gib=1000))[0] > 0


def test_what_counters_show_of_it_ends_below_the_card_and_decides_no_verdict(facts: Any) -> None:
    sharded = {**DATA_SET, "strategy": "fsdp", "micro_batch": 16}
    large, small = (estimate(facts(**{**sharded, "gpu_mem_gib": size})) for size in (1000, 80))
    assert large.torch_reserved is not None
    assert small.torch_reserved is not None
    assert small.device_used is not None
    assert small.gpu is not None
    assert small.torch_reserved < large.torch_reserved
    assert small.device_used < small.gpu.capacity
    assert small.gpu.verdict() == "fits"


def test_what_is_only_held_leaves_no_pieces_and_hardly_any_beside_work(facts: Any) -> None:
    gpu = estimate(facts(gpu_mem_gib=1000)).gpu
    assert gpu is not None
    pieces = {phase.phase: next(t for t in phase.terms if t.id == "allocator_slack") for phase in gpu.phases}
    step = gpu.phase("optimizer_step")
    held, work = (sum(t.bytes for t in step.terms if t.family == family) for family in ("held", "work"))
    assert pieces["checkpoint"].bytes == 0
    assert pieces["optimizer_step"].bytes == pytest.approx(0.02 * held + 0.16 * work)


def test_the_replayed_allocator_holds_the_numbers() -> None:
    same = [one for run in RUNS if run["rows"].startswith("all of") for one in run["beyond"]]
    other = sorted(one for run in RUNS if not run["rows"].startswith("all of") for one in run["beyond"])
    tenth = len(other) // 10
    assert statistics.median(
        [statistics.median(run["beyond"]) for run in RUNS if run["beyond"][0] != run["beyond"][-1]]
    ) == (pytest.approx(GROWTH.mid, rel=0.1))
    assert (other[tenth], other[-tenth - 1]) == (
        pytest.approx(GROWTH.low, rel=0.1),
        pytest.approx(GROWTH.high, rel=0.1),
    )
    assert SLACK_WORK.low <= min(same) <= max(same) <= SLACK_WORK.high + 0.05


@pytest.mark.parametrize("replayed", REPLAYED["on_card"], ids=lambda replayed: replayed["point"])
def test_a_real_card_reserves_for_rows_of_other_lengths_what_the_replay_says(replayed: dict[str, Any]) -> None:
    point = CARD[replayed["point"]]
    logits = 12 * json.loads(point["config"])["vocab_size"] * point["answers"]["max_length"]
    beyond = (point["reserved_of_uneven_rows"] - max(point["peaks"].values())) / logits
    assert beyond == pytest.approx(replayed["beyond"], abs=0.05)


def test_pieces_of_the_logits_are_among_the_blocks_of_other_lengths(facts: Any) -> None:
    plan = plan_of(facts(**DATA_SET), None)
    work, logits, nothing = exactly(15.0), exactly(5.0), exactly(0.0)
    assert most_cached(plan, nothing, work, logits, True) == GROWTH.high * 5 + SLACK_WORK.high * (15 - 5)
    assert most_cached(plan, nothing, work, logits, False) == SLACK_WORK.high * 15
