"""What the log measured against what is computed: like with like, and the reading counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.estimate import estimate
from diagnose.estimate.phases import reserved_bytes, trainer_bytes
from diagnose.types import Compared, Fact, Measured, Span
from diagnose.units import GIB, from_gib

HERE = Span(7, 0, 1)


def reading(counter, gib, phase="", moment="peak", step=9, **more):
    pool = "host" if counter.startswith("host") else "gpu"
    return Measured(phase, moment, pool, counter, from_gib(gib), HERE, "a line", step=step, **more)


@pytest.fixture
def measured(facts):
    """The estimate of a run whose log holds these readings."""

    def make(*readings, kind=None, **changes):
        run = facts(**changes)
        if kind:
            run = run.with_fact(Fact("oom_kind", kind, "read"))
        return estimate(replace(run, measured=readings))

    return make


def only(found) -> Compared:
    assert len(found.compared) == 1
    return found.compared[0]


def test_a_figure_that_nobody_computes_is_held_against_nothing(measured):
    found = measured(reading("free", 12.0, "init", "after"))
    assert (only(found).estimate, only(found).total) == (None, None)
    assert all(phase.measured is None for phase in found.gpu.phases)


def test_a_peak_that_also_counts_an_engine_is_held_against_nothing(measured):
    found = measured(reading("reserved", 70.0, with_engine=True))
    assert only(found).estimate is None


def test_a_reading_at_the_edge_of_a_phase_is_no_peak_of_it(measured):
    found = measured(reading("allocated", 5.0, "actor_update", "before"))
    held = sum(term.bytes for term in found.gpu.phase("actor_update").terms if term.family == "held")
    assert (only(found).estimate, found.gpu.phase("actor_update").measured) == (held, None)


def test_a_peak_of_a_named_phase_is_held_against_the_trainer_of_that_phase(measured):
    found = measured(reading("allocated", 33.0, "logprob"))
    phase = found.gpu.phase("logprob")
    assert (only(found).phase, only(found).estimate) == ("logprob", trainer_bytes(phase))
    assert phase.measured == phase.bytes + from_gib(33.0) - trainer_bytes(phase)


def test_a_peak_of_the_whole_run_belongs_to_the_phase_that_takes_most(measured):
    found = measured(reading("reserved", 40.0))
    highest = max(found.gpu.phases, key=reserved_bytes)
    assert (only(found).phase, only(found).estimate) == (highest.phase, reserved_bytes(highest))


def test_the_reading_decides_whether_it_fits_in_both_directions(measured):
    fits = measured(reading("device", 10.0, "actor_update"), micro_batch=64)
    over = measured(reading("device", 79.0, "actor_update"), gpu_mem_gib=40, micro_batch=1)
    assert fits.gpu.verdict(fits.gpu.phase("actor_update")) == "fits"
    assert over.gpu.verdict(over.gpu.phase("actor_update")) == "out"


def test_the_band_of_the_estimate_no_longer_counts_where_it_was_measured(measured):
    phase = measured(reading("device", 50.0, "actor_update")).gpu.phase("actor_update")
    assert (phase.need, phase.bounds) == (50 * GIB, (50 * GIB, 50 * GIB))
    assert phase.low < phase.high


@pytest.mark.parametrize(("step", "kind"), [(1, None), (9, "gpu_oom")])
def test_a_first_step_and_a_run_that_ran_out_later_bound_the_need_from_below_only(step, kind, measured):
    low, high = (
        measured(reading("device", gib, "actor_update", step=step), kind=kind, micro_batch=1).gpu.phase("actor_update")
        for gib in (1.0, 78.0)
    )
    assert (low.measured, high.measured) == (None, 78 * GIB)


def test_a_host_that_ran_out_says_nothing_against_a_fit_on_the_card(measured):
    phase = measured(reading("device", 1.0, "actor_update"), kind="host_ram").gpu.phase("actor_update")
    assert phase.measured == GIB


def test_the_drivers_count_outranks_what_torch_counts(measured):
    found = measured(reading("reserved", 20.0, "actor_update"), reading("device", 30.0, "actor_update"))
    assert found.gpu.phase("actor_update").measured == 30 * GIB


def test_the_driver_inside_a_phase_counts_only_where_it_is_above_the_estimate(measured):
    inside = reading("device", 0.5, "rollout", "now")
    assert measured(inside).gpu.phase("rollout").measured is None
    assert measured(replace(inside, bytes=from_gib(79))).gpu.phase("rollout").measured == 79 * GIB


def test_a_use_of_the_node_is_held_against_the_host_in_that_phase(measured):
    found = measured(reading("host", 300.0, "actor_update", "now"))
    phase = found.host.phase("actor_update")
    assert (only(found).estimate, phase.measured) == (phase.bytes, 300 * GIB)


def test_a_counter_that_leaves_page_locked_copies_out_is_held_against_the_rest(measured, record):
    run = {"framework_": record(pinned_rounding="power_of_two"), "optimizer_offload": True}
    low, high = (measured(reading("host_used", gib, "rollout", "now"), **run) for gib in (100.0, 900.0))
    phase = low.host.phase("rollout")
    assert only(low).estimate == phase.bytes - sum(
        t.bytes for t in phase.terms if t.id in ("actor_optimizer", "engine_backup")
    )
    assert (phase.measured, high.host.phase("rollout").measured) == (None, 900 * GIB)


def test_a_part_of_the_engine_is_held_against_its_own_term(measured):
    found = measured(reading("engine_weights", 14.2, "init", "now"))
    term = next(term for term in found.gpu.phase("rollout").terms if term.id == "engine_weights")
    assert only(found).estimate == term.bytes


def test_tokens_of_the_cache_become_bytes_by_the_models_own_heads(measured):
    found = measured(Measured("init", "now", "gpu", "kv_tokens", 0, HERE, "cache", tokens=100_000))
    assert only(found).measured.bytes == 100_000 * 2 * 28 * 2 * 128 * 2  # 28 layers, 4 KV heads of 128 over TP 2


def test_what_was_measured_changes_no_term(facts, measured):
    without = estimate(facts()).gpu
    with_it = measured(reading("device", 79.0, "actor_update")).gpu
    assert [phase.terms for phase in without.phases] == [phase.terms for phase in with_it.phases]
