"""Bytes in pieces: encodings, long lines, long logs."""

from __future__ import annotations

import random

import pytest

from diagnose.ingest import read, read_stream, read_streams
from diagnose.ingest.stream import thin

CHINESE = "显存不足，第三步就报错\n--max_length 2048\n"


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gbk"])
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_it_reads_the_encodings_of_logs_however_they_are_cut(encoding: str, size: int) -> None:
    assert read_stream(pieces(CHINESE.encode(encoding), size)) == read(CHINESE)


def test_bytes_that_are_no_text_are_not_tried_as_chinese() -> None:
    signs = random.Random(1)
    data = b"".join(bytes([signs.randrange(1, 32), *signs.randbytes(3)]) + "\n显存\n".encode("gbk") for _ in range(200))
    assert "显存" not in thin([data]).decode()


def test_a_stray_control_character_leaves_gbk_a_text() -> None:
    assert thin([b"\x01" + CHINESE.encode("gbk")]).decode() == "\x01" + CHINESE


def test_it_keeps_chinese_of_which_one_character_is_broken() -> None:
    data = "显存不足，第三步就报错".encode()[:-1]
    assert thin([data]).decode().startswith("显存不足")


def test_nothing_gives_an_empty_paste() -> None:
    assert read_stream([]) == read("")
    assert read("").lines == ()


def test_it_knows_a_binary_file_and_reads_what_is_readable() -> None:
    paste = read_stream([b"\x00\x01" + bytes(range(256)) * 40 + b"\nCUDA out of memory\n"])
    assert paste.binary
    assert "CUDA out of memory" in paste.lines[-1].words


def test_it_reads_nothing_from_noise_and_the_lines_behind_it() -> None:
    noise = b"".join(b"\xe9\x07lr\x9e=3 trl\x81\x02\xff 9b\x13\n" + bytes([n, 200]) + b"7b\n" for n in range(14, 214))
    paste = read_streams([[b"Killed\n"], [noise + b"zero_stage: 3\n"]])
    told = [(1, "Killed"), (3, "⋯ noise ⋯"), (403, "zero_stage: 3")]
    assert [(line.number, line.text) for line in paste.lines if line.text] == told


def test_it_holds_a_bounded_part_of_a_long_stream_and_its_line_numbers() -> None:
    filler = b"".join(b"nothing to tell in line number %d of this log\n" % n for n in range(1_000))
    chunks = [filler] * 60 + [b"RuntimeError: CUDA out of memory\n"] + [filler] * 60
    text = thin(chunks).decode()
    assert len(text) < 1_700_000
    paste = read(text)
    assert [line.number for line in paste.lines if "RuntimeError" in line.text] == [60_001]
    assert paste.total_lines == 120_001


def test_it_counts_a_log_that_is_hardly_more_than_line_ends() -> None:
    paste = read_stream([b"first\n", *[b"\n" * 65_536] * 40, b"last"])
    assert [(line.number, line.text) for line in (paste.lines[0], paste.lines[-1])] == [
        (1, "first"),
        (2_621_442, "last"),
    ]


def test_a_text_of_nothing_but_gaps_is_read() -> None:
    paste = read_stream(["⋯ 3 lines ⋯\n".encode() * 20_000])
    assert {line.text for line in paste.lines} <= {""}


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_every_kind_of_line_end_counts_once(end: str) -> None:
    data = end.join(f"line {n} of the log" for n in range(100_000)).encode()
    paste = read_stream(pieces(data, 4_097))
    assert (paste.total_lines, paste.lines[-1].number) == (100_000, 100_000)


def test_it_keeps_the_last_line_of_a_form_that_repeats() -> None:
    filler = "".join(f"nothing to tell in {chr(97 + n % 26)}{n}\n" for n in range(5_000))
    log = "".join(f"{filler}step:{n} - memory_used_gb:{n * 10}.5\n" for n in range(40))
    numbers = [line.text for line in read_stream([log.encode()]).lines if "memory_used" in line.text]
    assert numbers[0] == "step:0 - memory_used_gb:0.5"
    assert numbers[-1] == "step:39 - memory_used_gb:390.5"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_it_knows_utf16_that_has_lost_its_mark(encoding: str) -> None:
    text = "--max_length 2048 and then it fails\n"
    assert read_stream([text.encode(encoding)]).settings == read(text).settings


def test_it_passes_over_the_rest_of_an_endless_line() -> None:
    first, last = thin([b"x" * 50_000] * 40 + [b"\nend"]).split(b"\n")
    assert (len(first), last) == (64_000, b"end")
