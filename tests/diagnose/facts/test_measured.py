"""Lines that programs print of memory: each file's own examples, then what only several lines show."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.facts import read_facts
from diagnose.facts.failing.growth import Point, growth
from diagnose.facts.failing.measured import read_measured
from diagnose.facts.sentences.lowered import lower
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.types import Measured, Span
from diagnose.units import GIB

HERE = Span(1, 0, 1)

EXAMPLES = [
    pytest.param(log, example, id=f"{log.slug}: {example.says}")
    for log in current().logs.values()
    for example in log.examples
]


def told(one):
    return f"{one.phase or '–'} {one.moment} {one.counter} {one.tokens or f'{one.gib:.2f}'}"


@pytest.mark.parametrize(("log", "example"), EXAMPLES)
def test_a_log_record_reads_its_example_and_nothing_else(log, example, facts):
    values = facts(example.text).values
    paste = read(example.text)
    readings = read_measured(paste, lower(paste), {log.slug: log}, values)
    assert sorted(told(one) for one in readings.of()) == sorted(example.reads)
    assert {id: readings.facts[id].value for id in example.facts if id in readings.facts} == dict(example.facts)
    assert bool(readings.facts) == bool(example.facts)


@pytest.fixture
def measured():
    return Measured("actor_update", "now", "host", "host", GIB, HERE, "used")


def rising(*gibs, steps=None):
    steps = steps or range(1, len(gibs) + 1)
    return [Point(step, round(gib * GIB), Span(step, 0, 1)) for step, gib in zip(steps, gibs, strict=True)]


@pytest.mark.parametrize(
    ("says", "sizes"),
    [
        ("three points of the first steps", (100, 110, 120)),
        ("a rise that came to rest", (100, 120, 140, 150, 150.1, 150.2, 150.2, 150.2)),
        ("one jump", (100, 100, 100.1, 140, 140.1, 140.1)),
        ("a wandering", (100, 130, 104, 128, 101, 126, 108)),
        ("a fall", (140, 130, 120, 110)),
        ("less than half a GiB", (100, 100.1, 100.2, 100.3)),
    ],
)
def test_no_growth_is_seen_in(says, sizes, measured):
    assert growth(measured, rising(*sizes)) is None


def test_growth_tells_what_is_added_by_a_step_and_when_the_limit_is_reached(measured):
    found = growth(measured, rising(100, 112, 119, 131, 140, steps=(10, 20, 30, 40, 50)))
    assert found.each / GIB == pytest.approx(1.0, abs=0.05)
    assert (found.first[0], found.last[0], found.points) == (10, 50, 5)
    assert found.reaches(200 * GIB) == pytest.approx(110, abs=5)


@pytest.mark.parametrize(
    ("sizes", "at", "moment"),
    [
        ((100, 101, 104), (10, 20, 30), "now"),
        ((100, 101, 125), (10, 20, 30), "now"),
        ((100, 130, 120), (10, 20, 30), "now"),
        ((100, 124, 125), (10, 20, 30), "now"),
        ((100, 110, 120), (1, 2, 3), "now"),
        ((100, 110, 120), (10, 20, 30), "peak"),
        ((100, 120), (10, 20), "now"),
    ],
)
def test_three_readings_that_are_close_uneven_or_peaks_are_no_growth(sizes, at, moment, measured):
    assert growth(replace(measured, moment=moment), rising(*sizes, steps=at)) is None


def test_three_readings_that_lie_apart_and_rise_evenly_are_growth(measured):
    found = growth(measured, rising(100, 130, 160, steps=(10, 20, 30)))
    assert (found.points, round(found.each / GIB, 2)) == (3, 3.0)
    lines = "\n".join(
        f"step:{step} - perf/cpu_memory_used_gb:{size}.0" for step, size in ((10, 500), (20, 600), (30, 700))
    )
    assert read_facts(read(f"{lines}\n{KILLED}"), {}, current()).values["oom_kind"] == "memory_growth"


def test_of_several_readings_of_a_step_the_highest_counts(measured):
    found = growth(measured, rising(100, 60, 110, 120, 60, 130, steps=(1, 1, 2, 3, 3, 4)))
    assert (found.first[1], found.last[1], found.points) == (100 * GIB, 130 * GIB, 4)


def steps(key, sizes, ending=""):
    lines = [f"step:{i} - actor/pg_loss:0.1 - {key}:{size}" for i, size in enumerate(sizes, 1)]
    return "\n".join([*lines, ending])


FULL = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
    "GPU 0 has a total capacity of 79.15 GiB of which 1.25 GiB is free."
)
KILLED = (
    "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
    "Memory on the node (IP: 10.1.2.3, ID: ab) where the task (task ID: ff, name=main_task, pid=9, memory used=0.90GB) "
    "was running was 725.00GB / 760.00GB (0.953947), which exceeds the memory usage threshold of 0.95."
)


def test_a_host_that_fills_step_by_step_is_a_leak(facts):
    found = facts(steps("perf/cpu_memory_used_gb", (500, 545, 590, 640, 680), KILLED))
    assert found.values["oom_kind"] == "memory_growth"
    assert found.growth[0].pool == "host"


def test_a_host_that_fills_while_somebody_asks_for_a_leak_is_one_though_nothing_failed(facts):
    readings = steps("perf/cpu_memory_used_gb", (182, 231, 280, 329))
    found = facts(f"is this a leak? no crash yet but host memory grows\n{readings}")
    assert (found.values.get("oom_kind"), found.growth[0].pool) == ("memory_growth", "host")
    for words in ("my log", "no memory leak here, only the answers get longer"):
        assert "oom_kind" not in facts(f"{words}\n{readings}").values


def test_a_host_that_stays_full_is_no_leak(facts):
    found = facts(steps("perf/cpu_memory_used_gb", (640, 668, 669, 668, 669), KILLED))
    assert (found.values["oom_kind"], found.growth) == ("host_ram", ())


def test_the_answer_outranks_the_leak(facts):
    found = facts(steps("perf/cpu_memory_used_gb", (500, 545, 590, 640, 680), KILLED), oom_kind="host_ram")
    assert found.values["oom_kind"] == "host_ram"


def test_peaks_that_follow_longer_responses_are_no_leak(facts):
    found = facts(steps("perf/max_memory_reserved_gb", (50, 55, 61, 66, 71), FULL))
    assert found.values["oom_kind"] == "gpu_oom"
    assert found.growth[0].peak


def test_a_leak_in_memory_that_did_not_run_out_is_not_the_failure(facts):
    assert facts(steps("perf/cpu_memory_used_gb", (100, 110, 120, 130), FULL)).values["oom_kind"] == "gpu_oom"


def test_of_the_lengths_that_a_log_prints_the_largest_step_counts(facts):
    found = facts(
        "step:1 - response_length/mean:300.0\nstep:2 - response_length/mean:512.0\nstep:3 - response_length/mean:410.0"
    )
    assert found.values["real_response_length"] == 512
    assert found.stated["real_response_length"].span.line == 2


def test_a_step_as_a_heading_is_counted_on(values):
    assert (
        values("Step 3\nperf:\n  cpu_memory_used_gb: 10.5\nStep 4\nperf:\n  cpu_memory_used_gb: 11.5\n" + KILLED)[
            "step"
        ]
        == 4
    )


def test_idle_cards_say_nothing_of_a_run(facts):
    assert (
        facts("| N/A   31C    P0             61W /  400W |       4MiB /  81920MiB |      0%      Default |").measured
        == ()
    )


ODD = ("0", "00000", "9" * 400, "1.2.3", "1e400", "1e-400", "nan", "-1", "1,,2", "")


@pytest.mark.parametrize("odd", ODD)
def test_a_damaged_figure_breaks_nothing(odd, facts):
    for log in current().logs.values():
        for example in log.examples:
            found = facts(re.sub(r"\d+(?:[.,]\d+)*", odd, example.text))
            assert all(0 <= one.bytes < 2**80 for one in found.measured)


@given(st.data())
def test_no_line_that_holds_the_words_of_a_record_breaks_the_reader(data):
    knowledge = current()
    log = data.draw(st.sampled_from(sorted(knowledge.logs.values(), key=lambda one: one.slug)))
    literals = data.draw(st.sampled_from(log.literals))
    between = st.text(st.sampled_from("0123456789.,:|=()[]'\" \tGiMBKe+-/abz<&\n"), max_size=30)
    line = data.draw(between) + "".join(literal + data.draw(between) for literal in literals)
    paste = read(line)
    readings = read_measured(paste, lower(paste), {log.slug: log}, {})
    assert all(one.bytes >= 0 for one in readings.of())
