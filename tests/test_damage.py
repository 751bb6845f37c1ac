"""The tests' own pastes, damaged as people's texts are on the way to the paste box: the same is read, or less, but nothing else."""

from __future__ import annotations

import pytest

from benchmarks.damage import ADDS, BYTES, HARMLESS, LABELLED, LOSSY, TRACEBACK
from benchmarks.damaged import ROOT, answer, changes, damaged, texts
from diagnose.ingest import read

PASTES = texts(ROOT / "tests" / "pastes")
# Few lines broken by a terminal prove no width, broken at blanks a word may stand alone: something may be lost.
BROKEN = tuple(name for name in HARMLESS if name.startswith(("wrapped", "folded", "bulleted")))


@pytest.fixture(scope="module")
def whole():
    return {id: answer(read(text)) for id, text in PASTES.items()}


@pytest.mark.parametrize("name", [name for name in (*HARMLESS, *BYTES) if name not in BROKEN])
def test_a_damaged_paste_is_read_as_the_whole_one(name, whole):
    for id, text in PASTES.items():
        assert not list(changes(whole[id], answer(damaged(text, name)), ADDS.get(name, ()))), id


@pytest.mark.parametrize("name", LABELLED)
def test_what_stands_before_the_lines_of_a_traceback_is_no_part_of_the_text(name):
    for id, text in PASTES.items():
        traced = f"{text.rstrip()}\n\n{TRACEBACK}"
        assert not list(changes(answer(read(traced)), answer(damaged(traced, name)))), id


@pytest.mark.parametrize("name", [*BROKEN, *LOSSY])
def test_a_paste_that_lost_something_names_no_other_failure(name, whole):
    for id, text in PASTES.items():
        after = answer(damaged(text, name))
        for fact in ("oom_kind", "phase"):
            assert after.get(fact) in (whole[id].get(fact), None, "other"), id
