"""Slips of the keyboard in the words for running out; all else keeps its spelling and its place."""

from __future__ import annotations

import pytest

from diagnose.ingest.lines import read_rows


@pytest.mark.parametrize(
    "text",
    [
        "out of memory",
        "out-of-memory",
        "OutOfMemory",
        "out of money",
        "cuda memray",
        "system memories",
        "显存暴涨",
        "报显存不足",
        "/runs/out_of_memroy/x",
        "memroy",
    ],
)
def test_it_leaves_other_words_as_they_are(text):
    assert read_rows([(1, text)])[0].words == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CUDA outof memory", "CUDA out of memory"),
        ("cuda out of memmory", "cuda out of memory"),
        ("it goes out fo memory", "it goes out of memory"),
        ("Out of meory in step 3", "out of memory in step 3"),
        ("out ofmemory", "out of memory"),
        ("host memroy is full", "host memory is full"),
        ("显存暴了", "显存爆了"),
        ("一跑就暴显存", "一跑就爆显存"),
    ],
)
def test_it_reads_what_was_meant(text, words):
    assert read_rows([(1, text)])[0].words == words


def test_columns_lead_back_to_what_the_person_typed():
    row = read_rows([(1, "outof memory at bs=16")])[0]
    at = row.words.index("16")
    assert row.line.text[row.span(at, at + 2).start : row.span(at, at + 2).end] == "16"
