"""An allocator's message without its blanks, broken anywhere, or with the marks of Chinese sentences."""

from __future__ import annotations

import pytest

from diagnose.ingest import read

PRINTED = (
    "Tried to allocate 9.28 GiB. GPU 3 has a total capacity of 79.11 GiB of which 4.02 GiB is free. "
    "Process 881 has 75.08 GiB memory in use."
)


@pytest.mark.parametrize(
    "message",
    [
        "Tried to allocate 9.28GiB.GPU 3has a total capacity of 79.11GiB of which 4.02GiB is free.Process 881has 75.08 GiB memory in use.",
        "Tried to allocate9.28GiB. GPU 3 has a total capacity of79.11 GiBof which4.02 GiBis free. Process 881 has75.08 GiBmemory in use.",
    ],
)
def test_words_that_were_closed_up_are_parted(message: str) -> None:
    text = read(f"CUDA out of memory. {message}").text
    assert text == f"CUDA out of memory. {PRINTED}"
    assert read(text).text == text


def test_a_phrase_that_was_broken_is_joined() -> None:
    broken = "CUDA out of memory.\nTried to\nallocate 9. 28 GiB.\nGPU 3 has a total capacity of 79. 11 GiB of\nwhich 4. 02\nGiB is free."
    assert read(broken).text == (
        "CUDA out of memory.\nTried to allocate 9.28 GiB.\n\nGPU 3 has a total capacity of 79.11 GiB of which 4.02 GiB is free."
    )


def test_the_lines_behind_a_broken_phrase_keep_their_numbers() -> None:
    broken = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 2 has a total capacity of 79.15 GiB\nof which 6.20 GiB is free.\na=1\n"
    assert [line.number for line in read(broken).lines if line.text == "a=1"] == [3]


def test_marks_of_a_chinese_sentence_are_those_of_the_message() -> None:
    typed = "CUDA out of memory. Tried to allocate 2.32 GiB（GPU 0；79.33 GiB total capacity；1.51 GiB free）"
    assert "GiB(GPU 0; 79.33 GiB total capacity; 1.51 GiB free)" in read(typed).text


@pytest.mark.parametrize(
    "text", ["of which 4GiB（一半）is free", "it took 3.5GiB.Then 2. 75 GiB；that is all", "GPU 3has 40GiB"]
)
def test_sizes_of_other_sentences_stay_as_they_are(text: str) -> None:
    assert read(text).text == text


def test_dashes_that_stand_apart_from_several_flags_are_theirs() -> None:
    text = read("python -m train -- pretrain Qwen/Qwen2.5-7B -- max_len 4096\n-- zero_stage 3 -- bf16").text
    assert text == "python -m train --pretrain Qwen/Qwen2.5-7B --max_len 4096\n--zero_stage 3 --bf16"


@pytest.mark.parametrize(
    "text", ["ray job submit -- python3 train.py", "it ran -- once -- and died", "exec pod -- run_all --x 1"]
)
def test_other_dashes_stay_apart(text: str) -> None:
    assert read(text).text == text


@pytest.mark.parametrize(
    ("typed", "meant"), [("qwen2.5—14b 8*A800–80G", "qwen2.5-14b 8*A800-80G"), ("7–14B or 10–20G", "7–14B or 10–20G")]
)
def test_a_dash_inside_a_name_is_a_hyphen(typed: str, meant: str) -> None:
    assert read(typed).text == meant


def test_a_message_without_any_blank_is_spaced() -> None:
    run_on = "CUDAoutofmemory.Triedtoallocate9.28GiB.GPU3hasatotalcapacityof79.11GiBofwhich4.02GiBisfree.Process881has75.08GiBmemoryinuse."
    assert read(run_on).text == f"CUDA out of memory. {PRINTED}"
