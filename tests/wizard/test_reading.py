"""What was read, as the page shows it."""

from __future__ import annotations

from dataclasses import replace

from diagnose.types import Estimate, Facts, Line, Paste, Span
from tests import samples
from wizard import reading
from wizard.state import Answers


def rows_of(groups):
    return {row.id: row for group in groups for row in group.rows}


def test_a_default_never_stands_among_what_was_read():
    assert "fused_optimizer" not in rows_of(reading.groups(samples.diagnosis(), Answers()))
    assert reading.defaults(samples.diagnosis()).ids == ("fused_optimizer",)


def test_an_assumption_is_marked_and_says_why():
    row = rows_of(reading.groups(samples.diagnosis(), Answers()))["real_response_length"]
    assert (row.chip, row.guess, row.note) == ("assumed", True, "a third of the limit")


def test_a_fact_that_was_read_names_its_line():
    row = rows_of(reading.groups(samples.diagnosis(), Answers()))["train_batch_size"]
    assert (row.chip, row.line, row.guess) == ("line 4", 4, False)


def test_an_answer_is_told_apart_from_what_was_read():
    assert rows_of(reading.groups(samples.diagnosis(), Answers()))["gradient_checkpointing"].chip == "you"
    assert rows_of(reading.groups(samples.diagnosis(), Answers(), "link"))["gradient_checkpointing"].chip == "link"


def test_what_an_estimate_lacks_can_be_set():
    bare = replace(samples.diagnosis(), facts=Facts(), estimate=Estimate(missing=("model", "n_gpus")))
    rows = rows_of(reading.groups(bare, Answers()))
    assert rows["model"].words == "not told"
    assert rows["oom_kind"].words == "not settled"


def test_a_mark_stands_at_the_very_words():
    row = next(row for row in reading.paste_rows(samples.diagnosis()) if row.number == 4)
    assert row.pieces[0] == reading.Piece("train.batch=8", "mark")


def test_what_was_taken_out_is_a_slip():
    row = next(row for row in reading.paste_rows(samples.diagnosis()) if row.number == 3)
    assert reading.Piece("path", "slip") in row.pieces


def test_marks_that_overlap_become_one():
    line = Line(1, "abcdef", "abcdef")
    assert [piece.words for piece in reading._pieces(line, [(0, 3), (2, 5)])] == ["abcde", "f"]


def test_a_mark_beyond_the_line_is_cut():
    line = Line(1, "abc", "abc")
    assert [(piece.words, piece.kind) for piece in reading._pieces(line, [(1, 99)])] == [("a", ""), ("bc", "mark")]


def test_a_long_paste_shows_what_was_read_and_counts_the_rest():
    lines = tuple(Line(number, f"line {number}", f"line {number}") for number in range(1, 201))
    fact = replace(samples.stated()["n_gpus"], span=Span(100, 0, 4))
    diagnosis = replace(
        samples.diagnosis(),
        paste=Paste(text="", lines=lines, total_lines=200),
        facts=Facts(stated={"n_gpus": fact}, values={"n_gpus": 4}),
    )
    rows = reading.paste_rows(diagnosis)
    assert [row.number for row in rows if row.number] == [98, 99, 100, 101, 102]
    assert [row.gap for row in rows if row.gap] == [97, 98]
