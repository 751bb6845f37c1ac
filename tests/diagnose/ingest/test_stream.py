"""Bytes in pieces: encodings, long lines, long logs."""

from __future__ import annotations

import pytest

from diagnose.ingest import read, read_stream
from diagnose.ingest.stream import read_lines, thin

CHINESE = "显存不足，第三步就报错\n--max_length 2048\n"


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gbk"])
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_it_reads_the_encodings_of_logs_however_they_are_cut(encoding: str, size: int) -> None:
    assert read_stream(pieces(CHINESE.encode(encoding), size)) == read(CHINESE)


def test_it_keeps_chinese_of_which_one_character_is_broken() -> None:
    data = "显存不足，第三步就报错".encode()[:-1]
    assert list(read_lines([data]))[0].startswith("显存不足")


def test_nothing_gives_an_empty_paste() -> None:
    assert read_stream([]) == read("")
    assert read("").lines == ()


def test_it_knows_a_binary_file_and_reads_what_is_readable() -> None:
    paste = read_stream([b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40 + b"\nCUDA out of memory\n"])
    assert paste.binary
    assert "CUDA out of memory" in paste.lines[-1].words


def test_it_holds_a_bounded_part_of_a_long_stream_and_its_line_numbers() -> None:
    filler = b"".join(b"nothing to tell in line number %d of this log\n" % n for n in range(1_000))
    chunks = [filler] * 60 + [b"RuntimeError: CUDA out of memory\n"] + [filler] * 60
    text = thin(read_lines(chunks))
    assert len(text) < 1_400_000
    paste = read(text)
    assert [line.number for line in paste.lines if "RuntimeError" in line.text] == [60_001]
    assert paste.total_lines == 120_001


def test_it_passes_over_the_rest_of_an_endless_line() -> None:
    lines = list(read_lines([b"x" * 50_000] * 40 + [b"\nend"]))
    assert len(lines[0]) <= 120_000
    assert lines[-1] == "end"
