"""What the log measured, on the page: beside the estimate, in the chart, in the figures and in words."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from django.test import Client

from diagnose.estimate.phases import AWAKE
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.units import from_gib, to_gib
from tests import samples
from wizard import measured
from wizard.chart import bars, columns, drawing
from wizard.chart.data import shown
from wizard.ledger import all_phases, beside, ledgers, reported
from wizard.notes import notes
from wizard.verdict import figures

RUN = """\
python3 -m verl.trainer.main config=examples/config.yaml data.max_prompt_length=1024 data.max_response_length=2048 \\
  data.rollout_batch_size=128 worker.actor.model.model_path=Qwen/Qwen2.5-7B-Instruct worker.rollout.n=8 \\
  worker.rollout.gpu_memory_utilization=0.5 trainer.n_gpus_per_node=8 worker.actor.micro_batch_size_per_device_for_update=4
8 x A100 80GB, 1000 GB of RAM
"""


def steps(host: list[float], reserved: float = 60.0) -> str:
    told = [
        f"step:{i} - actor/pg_loss:0.1 - perf/max_memory_reserved_gb:{reserved} - perf/cpu_memory_used_gb:{used}"
        for i, used in enumerate(host, 1)
    ]
    return "\n".join(told)


def answer(text: str):
    return diagnose(text, {}, current(), ())


def words(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter("text")]


def pool_with(phase: str, gib: float):
    """The sample pool with a reading in one phase."""
    pool = samples.gpu_pool()
    phases = tuple(replace(p, measured=from_gib(gib)) if p.phase == phase else p for p in pool.phases)
    return replace(pool, phases=phases)


def test_without_a_reading_nothing_is_said():
    found = answer(RUN)
    assert (measured.rows(found), measured.grown(found)) == ((), ())


@pytest.mark.parametrize("draw", [columns, bars])
def test_a_reading_above_the_estimate_is_a_dashed_frame_and_stretches_no_term(draw):
    before, after = (drawing(pool, "load", "one card") for pool in (samples.gpu_pool(), pool_with("load", 40)))
    assert "ghost" not in draw(before)
    assert draw(after).count('class="ghost within"') == 1
    assert [column.segments for column in before.columns] == [column.segments for column in after.columns]


def test_a_reading_above_the_ceiling_has_the_colour_of_what_is_over():
    svg = columns(drawing(pool_with("load", 90), "load", "one card"))
    assert 'class="ghost"' in svg
    assert "url(#x-out)" in svg


def test_headroom_counts_from_the_reading():
    column = drawing(pool_with("load", 40), "load", "one card").columns[0]
    assert column.free == drawing(samples.gpu_pool(), "load", "one card").columns[0].free - (column.need - column.total)
    assert f"{shown(column.free)} free" in words(columns(drawing(pool_with("load", 40), "load", "one card")))


def test_a_reading_below_the_estimate_has_no_frame_and_is_told():
    drawn = drawing(pool_with("actor_update", 60), "actor_update", "one card")
    assert "ghost" not in columns(drawn)
    assert 'class="burst"' not in columns(drawn)
    assert "60.0 measured" in words(columns(drawn))


def test_those_who_do_not_see_it_hear_both():
    label = re.search(r'aria-label="([^"]+)"', columns(drawing(pool_with("load", 40), "load", "one card")))
    assert label
    assert "load 40.0 seen, " in label[1]


def test_the_ledger_shows_the_estimate_and_what_it_does_not_explain():
    ledger = next(one for one in ledgers(pool_with("load", 40), answer(RUN).facts, "load", None) if one.current)
    assert (ledger.seen, ledger.rest) == ("40.0", shown(400 - round(float(ledger.total) * 10)))
    assert not ledger.over


def test_the_ledger_shows_a_reading_below_the_estimate():
    ledger = next(one for one in ledgers(pool_with("load", 1), answer(RUN).facts, "load", None) if one.current)
    assert (ledger.seen, ledger.rest) == ("1.0", "")
    assert ledger.less


def test_the_table_of_all_phases_has_the_reading():
    _, rows = all_phases(drawing(pool_with("load", 40), "load", "one card"))
    assert [row.seen for row in rows if row.seen] == ["40.0"]


def test_the_figures_give_the_reading_first_and_the_estimate_last():
    found = answer(RUN + steps([300.0, 301.0]))
    pool = found.estimate.gpu
    told = figures(found, pool, pool.phase("actor_update"), None)
    assert told[0].title == "the actor update, measured"
    assert told[-1].title == "by the estimate"


def test_a_reading_outside_of_the_band_is_said_in_words():
    found = answer(RUN + steps([300.0, 301.0], reserved=79.0))
    assert "What the log measured and the estimate disagree" in [note.title for note in notes(found)]


def test_a_host_that_fills_up_is_a_note_though_it_fits_today():
    found = answer(RUN + steps([300.0, 320.0, 341.0, 360.0, 381.0]))
    note = next(note for note in notes(found) if note.title == "Host RAM grows from step to step")
    assert "20" in note.words
    assert "at about step 3" in note.words
    assert found.kind is None


@pytest.fixture
def page(client: Client) -> str:
    return client.post("/result/", {"paste": RUN + steps([300.0, 320.0, 341.0, 360.0, 381.0])}).content.decode()


@pytest.mark.django_db
def test_the_page_shows_each_reading_with_the_estimate_the_difference_and_its_line(page):
    table = page[page.index('id="measured"') :]
    row = re.search(r"Reserved by torch, peak.*?</tr>", table, re.S)
    assert row
    cells = re.findall(r'<td class="r">(.*?)</td>', row[0])
    assert cells[0] == "60.0"
    assert re.fullmatch(r"[+−]?[\d.]+", cells[2])
    assert 'href="#L5"' in cells[3]


@pytest.mark.django_db
def test_the_page_says_that_the_reading_decides(page):
    assert "The log shows 61" in page or "The log shows 62" in page or "The log shows 63" in page


@pytest.mark.django_db
def test_readings_are_shown_where_nothing_can_be_estimated(client):
    page = client.post("/result/", {"paste": steps([300.0, 320.0])}).content.decode()
    assert 'id="measured"' in page
    assert '<svg class="ph' not in page


@pytest.mark.django_db
def test_what_a_log_calls_its_moment_is_only_ever_text(client):
    line = "Before <img src=x onerror=alert(1)> update policy, memory allocated (GB): 12.5, memory reserved (GB): 14.25"
    page = client.post("/result/", {"paste": line}).content.decode()
    assert 'id="measured"' in page
    assert "<img src=x" not in page


FRAME = '  File "/w/verl/workers/actor/dp_actor.py", line 280, in update_policy\n    loss.backward()\n'
REFUSED = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.50 GiB. "
    "GPU 1 has a total capacity of 79.25 GiB of which 2.25 GiB is free.\n"
)
SHORT = "ValueError: Free memory on device (20.00/79.25 GiB) on startup is less than desired GPU memory utilization (0.5, 39.6 GiB).\n"


def test_a_card_that_ran_out_below_its_estimate_says_what_is_not_explained():
    found = answer(RUN + FRAME + REFUSED)
    pool = found.estimate.gpu
    told = figures(found, pool, pool.phase("actor_update"), from_gib(79.25 - 2.25 + 6.5))
    assert [(figure.title, figure.value) for figure in told][:2] == [
        ("in use and asked for", "83.5"),
        ("the card has", "79.2"),
    ]
    assert told[3].title == "not explained"


def test_what_others_hold_before_an_engine_starts_is_no_use_of_the_run():
    assert reported(answer(RUN + SHORT)) is None


def test_what_torch_had_allocated_is_held_against_the_phase_that_failed():
    message = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.33 GiB. GPU 0 has a total capacity of 79.11 GiB of which "
        "2.10 GiB is free. Of the allocated memory 62.14 GiB is allocated by PyTorch, "
        "and 12.00 GiB is reserved by PyTorch but unallocated.\n"
    )
    command = RUN.replace(
        "device_for_update=4", "device_for_experience=64 worker.actor.micro_batch_size_per_device_for_update=4"
    )
    found = diagnose(command + message, {"phase": "actor_update"}, current(), ())
    assert found.estimate.torch_allocated != found.estimate.torch_of["actor_update"]
    row = next(row for row in beside(found, None) if row.title == "Allocated by torch")
    assert row.estimate == f"{to_gib(found.estimate.torch_of['actor_update']):,.1f}"


def test_no_more_is_allocated_in_the_phase_drawn_than_held_in_it():
    """The phase is not told: both figures are of the one that is drawn, though the allocator has its highest elsewhere."""
    message = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.33 GiB. GPU 0 has a total capacity of 79.11 GiB of which "
        "2.10 GiB is free. Including non-PyTorch memory, this process has 77.00 GiB memory in use. Of the allocated memory 62.14 GiB "
        "is allocated by PyTorch, and 12.00 GiB is reserved by PyTorch but unallocated.\n"
    )
    found = diagnose(RUN.replace("device_for_experience=16", "device_for_experience=64") + message, {}, current(), ())
    phases = {phase.phase: phase for phase in found.estimate.gpu.phases}
    for phase in phases.values():
        rows = {row.title: row.estimate for row in beside(found, phase)}
        if phase.phase not in AWAKE:
            assert float(rows["Allocated by torch"]) <= float(rows["Held by the process"]), phase.phase


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("card", "total", "held", "told"), [("4090", 23.64, 22.43, True), ("H200", 139.81, 22.43, False)]
)
def test_what_a_card_cannot_hold_is_no_difference_to_wonder_at(client, card, total, held, told):
    paste = (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.64 GiB. GPU 0 has a total capacity of {total} GiB of which "
        f"1.20 GiB is free. Including non-PyTorch memory, this process has {held} GiB memory in use.\ntrl 0.17.0, one {card}, in the "
        "actor update\nGRPOConfig(per_device_train_batch_size=8, num_generations=8, max_prompt_length=512, max_completion_length=1024, "
        'bf16=True, gradient_checkpointing=False)\nmodel = "Qwen/Qwen2.5-1.5B-Instruct"'
    )
    page = client.post("/result/", {"paste": paste}).content.decode()
    assert "Held by the process" in page
    assert ("the run was refused before it came to that" in page) is told
