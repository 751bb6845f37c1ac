"""Panes of a console side by side, panels, and tables, which are neither."""

from __future__ import annotations

import pytest

from diagnose.ingest.panes import without_boxes

LINES = ["python train.py \\", "  --a 1", "", "Traceback (most", "  File x", "Error: y", "$"]


def boxed(lines: list[str]) -> str:
    return without_boxes("\n".join(lines).encode()).decode()


def test_panes_side_by_side_stand_below_each_other() -> None:
    assert boxed([f"{line:30}│{line}" for line in LINES]).split("\n") == LINES * 2


@pytest.mark.parametrize("edge", "│┃║")
def test_a_panel_loses_its_edges_and_keeps_its_indents(edge: str) -> None:
    assert boxed([f"{edge} {line:30} {edge}" for line in LINES]).split("\n") == LINES


def test_the_title_of_a_panel_stays() -> None:
    assert boxed(["╭─── Traceback (most recent call last) ───╮"]) == "Traceback (most recent call last)"


@pytest.mark.parametrize(
    "lines",
    [
        ["│ a │ b │ c │"] * 8,
        ["├──────┼──────┤", "│ 0 A  │ 1GiB │"] * 4,
        ["    │   │   if x:", "    │       y()", "def f():"] * 3,
        ["100%|███▎      | 3/3"] * 8,
    ],
)
def test_tables_and_guides_of_indents_stay(lines: list[str]) -> None:
    assert boxed(lines) == "\n".join(lines)


@pytest.mark.parametrize("before", ["", "(main pid=7) "])
def test_the_guides_of_an_object_that_is_printed_are_its_indents(before: str) -> None:
    lines = ["[", "│   Args(", "│   │   names=[", "│   │   │   'a',", "│   │   ],", "│   │   lr=1", "│   )", "]"]
    blank = ["[", "    Args(", "        names=[", "            'a',", "        ],", "        lr=1", "    )", "]"]
    assert boxed([before + line for line in lines]).split("\n") == [before + line for line in blank]
