"""One form of text, and lines that are counted over gaps."""

from __future__ import annotations

import pytest

from diagnose.ingest.normalise import count_lines, gap, gap_length, is_binary, normalise, numbered, with_gaps


@pytest.mark.parametrize("line", ["37 lines", "⋯ many lines ⋯", "⋯ 3 lines ⋯ and more", "... 3 lines ..."])
def test_it_takes_no_other_line_for_a_gap(line: str) -> None:
    assert gap_length(line) == 0


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("a\r\nb\rc\n", "a\nb\nc"),
        ("\ufeffa\x00b\x07", "ab"),
        ("\x1b[1;31mred\x1b[0m \x1b]0;title\x07x", "red x"),
        ("\x1b\x1b[31m[31mx", "[31mx"),
        ("a\ud800b", "a\ufffdb"),
        ("\n\na\n\n", "\n\na"),
        ("a\tb", "a\tb"),
        ("2.50\u00a0GiB\u200b", "2.50 GiB"),
    ],
)
def test_it_brings_a_text_into_one_form(written: str, text: str) -> None:
    assert normalise(written) == text
    assert normalise(text) == text


def test_it_knows_a_binary_file_by_its_unprintables() -> None:
    assert is_binary(b"\x00\x01\x02PNG\x07" * 40)
    assert not is_binary("显存不足\r\n".encode() * 40)


def test_a_gap_counts_as_the_lines_that_it_stands_for() -> None:
    text = f"a\n{gap(37)}\nb\n{gap(1)}"
    assert list(numbered(text.split("\n"))) == [(1, "a"), (39, "b")]
    assert count_lines(text) == 40


def test_it_writes_gaps_where_numbers_jump() -> None:
    assert with_gaps([(2, b"b"), (3, b"c"), (5, b"e")], 9).decode() == "⋯ 1 line ⋯\nb\nc\n⋯ 1 line ⋯\ne\n⋯ 4 lines ⋯"
