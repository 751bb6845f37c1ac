"""What fits around a run: each value that is returned fits, the next does not, and a page of it says the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.fit import Bench, Fit, fit
from diagnose.fit.bench import cards_fact
from diagnose.knowledge import current
from diagnose.pipeline import foresee
from diagnose.types import Facts, PoolEstimate
from diagnose.vocabulary import Value

TRAINERS = [slug for slug, framework in current().frameworks.items() if not framework.fallback]
CARD: dict[str, Value] = {"model": "Qwen2.5-7B", "n_gpus": 8, "gpu_model": "H20", "gpu_mem_gib": 96}
RUNS = st.fixed_dictionaries(
    {"framework": st.sampled_from(TRAINERS)},
    optional={
        "algo": st.sampled_from(["grpo", "ppo", "sft", "dpo"]),
        "model": st.sampled_from(["Qwen2.5-0.5B", "Qwen2.5-7B", "Qwen3-30B-A3B", "Qwen2.5-VL-7B"]),
        "n_gpus": st.sampled_from([1, 4, 6, 8, 16]),
        "gpu_mem_gib": st.sampled_from([24, 48, 80, 141]),
        "micro_batch": st.integers(1, 64),
        "prompt_length": st.integers(64, 4096),
        "response_length": st.integers(64, 16384),
        "max_length": st.sampled_from([2048, 8192]),
        "real_response_length": st.integers(1, 9000),
        "rollout_n": st.integers(1, 32),
        "train_batch_size": st.integers(1, 1024),
        "mini_batch_size": st.integers(1, 512),
        "gradient_accumulation": st.integers(1, 16),
        "gpu_memory_utilization": st.sampled_from([0.2, 0.45, 0.6, 0.9]),
        "rollout_tp": st.sampled_from([1, 2, 4]),
        "rollout_mode": st.sampled_from(["colocated", "server"]),
        "sp": st.sampled_from([1, 2]),
        "zero_stage": st.sampled_from([0, 1, 2, 3]),
        "full_or_lora": st.sampled_from(["full", "lora"]),
        "gradient_checkpointing": st.booleans(),
        "dynamic_batch": st.booleans(),
        "remove_padding": st.booleans(),
        "param_offload": st.booleans(),
        "optimizer_offload": st.booleans(),
        "host_ram_gb": st.sampled_from([120, 500, 2000]),
    },
)
quick = settings(max_examples=15, deadline=None)


def facts_of(run: dict[str, Any]) -> Facts:
    return foresee({**CARD, **run}, current()).facts


def fit_of(run: dict[str, Any]) -> tuple[Fit, Bench]:
    facts = facts_of(run)
    return fit(facts, current().fallback), Bench(facts, current().fallback)


def later(id: str, value: Value) -> Value:
    """The next value of a setting's grid."""
    assert isinstance(value, (int, float))
    if id == "gpu_memory_utilization":
        return round(value + 0.01, 2)
    return int(value) + (256 if id in ("response_length", "max_length", "micro_tokens") else 1)


def test_without_a_card_nothing_is_said() -> None:
    diagnosis = foresee({"framework": TRAINERS[0], "model": "Qwen2.5-7B", "n_gpus": 8}, current())
    assert fit(diagnosis.facts, current().fallback) == Fit()


def test_without_a_model_nothing_is_said() -> None:
    diagnosis = foresee({"framework": TRAINERS[0], "n_gpus": 8, "gpu_model": "H20", "gpu_mem_gib": 96}, current())
    assert fit(diagnosis.facts, current().fallback) == Fit()


@quick
@given(RUNS)
def test_the_largest_fits_and_the_next_does_not(run: dict[str, Any]) -> None:
    found, bench = fit_of(run)
    for row in found.rows:
        if row.best is None or row.fewest:
            continue
        assert bench.at({row.id: row.best}).fits, row.id
        if not row.free:
            assert not bench.at({row.id: later(row.id, row.best)}).fits, row.id


@quick
@given(RUNS)
def test_where_none_fits_the_smallest_does_not(run: dict[str, Any]) -> None:
    found, bench = fit_of(run)
    for row in found.rows:
        if row.best is None and not row.fewest:
            assert row.phase is not None
            assert not bench.at({row.id: later(row.id, 0)}).fits, row.id


@quick
@given(RUNS, st.data())
def test_more_of_what_is_bisected_never_takes_less_of_any_pool(run: dict[str, Any], data: st.DataObject) -> None:
    """The ground of the bisection: were it not so, a value above the one that is returned might fit."""
    found, bench = fit_of(run)
    for row in found.rows:
        if row.fewest:
            continue
        share = row.id == "gpu_memory_utilization"
        low = data.draw(st.floats(0.05, 0.98) if share else st.integers(1, 30_000), label=row.id)
        high = data.draw(st.floats(low, 0.99) if share else st.integers(int(low), 40_000), label=row.id)
        for before, after in zip(bench.at({row.id: low}).pools, bench.at({row.id: high}).pools, strict=True):
            spare = _cut_off(facts_of(run), high) if row.id == "rollout_n" else 16
            spare += _added_up(before) if row.id == "micro_batch" else 0
            spare += _one_part_more(before, after) if row.id == "rollout_n" else 0
            assert max(one.high for one in before.phases) <= max(one.high for one in after.phases) + spare, row.id


def _cut_off(facts: Facts, samples: float) -> float:
    """Bytes of rows that are cut off where the prompts of a step follow from its rows: fewer than one prompt has, 4 × 40 B a token."""
    tokens = sum(facts.number(id) or 0 for id in ("prompt_length", "response_length"))
    return 16 + 4 * 40 * samples * tokens


def _added_up(pool: PoolEstimate) -> int:
    """Bytes of gradients that need not wait for those of other micro batches once a single one takes all rows."""
    terms = (term for phase in pool.phases for term in phase.terms)
    return max((term.high for term in terms if term.id == "actor_gradients"), default=0)


def _one_part_more(before: PoolEstimate, after: PoolEstimate) -> float:
    """What doubts of smaller parts take less, where a step of more rows is cut into one part more by a budget of tokens.

    The parts may be as full as before, but are expected to be shorter, and some doubts are shares of what is expected.
    """
    falls = any(now.bytes < then.bytes for then, now in zip(before.phases, after.phases, strict=True))
    return 0.01 * max(one.high for one in before.phases) if falls else 0.0


def _most(pool: PoolEstimate, id: str) -> int:
    return max(term.high for phase in pool.phases for term in phase.terms if term.id == id)


@pytest.mark.parametrize(("fewer", "more"), [(3, 4), (13, 14)])
def test_one_part_more_of_a_step_leaves_what_a_part_may_hold(fewer: int, more: int) -> None:
    run = {
        "framework": "verl",
        "mini_batch_size": 91,
        "max_length": 8192,
        "real_response_length": 1877,
        "sp": 2,
        "dynamic_batch": True,
    }
    bench = Bench(facts_of(run), current().fallback)
    before, after = (bench.at({"rollout_n": number}).pools[0] for number in (fewer, more))
    assert _most(before, "checkpoints") == _most(after, "checkpoints") > 0


@quick
@given(RUNS)
def test_no_smaller_count_of_cards_fits(run: dict[str, Any]) -> None:
    found, bench = fit_of(run)
    row = next((row for row in found.rows if row.fewest), None)
    if row is None or row.best is None:
        return
    assert bench.at(row.settings).fits
    smaller = [cell for cells in found.table for cell in cells if cell.cards < int(row.best)]
    assert not any(cell.trial.fits and cell.length == bench.now(found.length_id) for cell in smaller)


@quick
@given(RUNS)
def test_each_cell_says_what_the_page_of_its_link_says(run: dict[str, Any]) -> None:
    found, _ = fit_of(run)
    cells = [cell for cells in found.table for cell in cells]
    for cell in cells[:: max(1, len(cells) // 4)]:
        page = foresee({**CARD, **run, **cell.settings}, current())
        assert page.estimate.gpu is not None
        assert cell.trial.pools[0].worst.need == page.estimate.gpu.worst.need, (cell.cards, cell.length)


@quick
@given(RUNS)
def test_each_row_says_what_the_page_of_its_link_says(run: dict[str, Any]) -> None:
    found, bench = fit_of(run)
    for row in found.rows:
        if row.best is not None:
            page = foresee({**CARD, **run, **row.settings}, current())
            assert page.estimate.gpu is not None
            assert bench.at(row.settings).pools[0].worst.need == page.estimate.gpu.worst.need, row.id


def test_more_samples_stay_with_the_algorithm_of_the_run() -> None:
    """Of Search-R1 several samples tell GRPO where nobody names the algorithm, but the row speaks of this run with more of them."""
    found, _ = fit_of({"framework": "search-r1"})
    row = next(row for row in found.rows if row.id == "rollout_n")
    assert row.settings == {"rollout_n": row.best, "algo": "ppo"}


@pytest.mark.parametrize("framework", TRAINERS)
def test_the_present_run_stands_in_the_table_once(framework: str) -> None:
    found, bench = fit_of({"framework": framework, "algo": "ppo", "response_length": 3000, "n_gpus": 6})
    present = [cell for cells in found.table for cell in cells if cell.present]
    assert [(cell.cards, cell.length) for cell in present] == [(6, 3000)]
    assert present[0].trial == bench.at({})


def test_a_run_whose_whole_row_is_bounded_is_tried_with_other_rows() -> None:
    found, _ = fit_of({"framework": "nemo-rl", "algo": "grpo", "max_length": 4096, "response_length": 4096})
    assert found.length_id == "max_length"
    assert all(row.settings.keys() == {"max_length"} for row in found.rows if row.id == "max_length" and row.best)


def test_a_count_that_the_parallel_sizes_do_not_divide_is_left_out() -> None:
    found, bench = fit_of({"framework": "verl", "response_length": 2048, "rollout_tp": 4, "sp": 2})
    assert cards_fact(bench.facts) == "n_gpus"
    assert [cells[0].cards for cells in found.table] == [4, 8, 16, 32]


def test_a_node_holds_no_more_cards_than_it_does() -> None:
    _, bench = fit_of({"framework": "verl", "gpus_per_node": 8, "n_gpus": 8})
    assert bench.cards(32) == {"n_gpus": 32, "gpus_per_node": 8}
    assert bench.cards(4) == {"n_gpus": 4, "gpus_per_node": 4}


def test_the_row_names_the_phase_and_the_term_that_stop_it() -> None:
    found, _ = fit_of({"framework": "verl", "micro_batch": 4, "response_length": 8192, "gpu_memory_utilization": 0.5})
    stopped = {row.id: (row.phase.phase, row.term.id) for row in found.rows if row.phase and row.term}
    assert stopped["micro_batch"] == ("actor_update", "activations")
    assert stopped["gpu_memory_utilization"] == ("rollout", "kv_pool")


def test_host_ram_stops_a_setting_where_the_card_would_not() -> None:
    found, _ = fit_of({"framework": "easyr1", "host_ram_gb": 300, "response_length": 2048, "gpu_mem_gib": 141})
    assert {row.pool.pool for row in found.rows if row.pool} == {"host"}
