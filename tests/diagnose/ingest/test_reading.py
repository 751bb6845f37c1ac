"""Reading the reduced paste again gives the same, whatever the text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.ingest import read, redact

# fmt: off
PARTS = (
    "--flag", "=", "a.b", "key_x", " ", "  ", "\n", "\n\n", "\\\n", ": ", "'", '"', "{", "}", "[", "]", "(", ")", "#", ",", "`", "@",
    "<br>", "<b", "</p>", "<", ">", "—", "–-", "\u2028", "\u00ad", "“", "\\_", "\\", "\\n\\n\\n\\n", '{"log":"', "\\n\"}", "worker-0: ",
    "x" * 70,
    "$(expr 16 / $n)", "${x:-3}", "3", "0.5", "true", "/home/al/x", "/data/q", "/workspace", "‹path›", "‹", "›", "user@host:~/",
    "10.0.0.3", ".", "⋯ 37 lines ⋯", "⋯", "[36m", "[0m", "\x1b[36m", "\x1b", "\x00", "\r", "(W pid=3) ", "[rank0]: ", "显存", "&lt;",
    'File "/home/u/a.py", line 3, in f', "Traceback (most recent call last):", "ray::A.b()", "hf_" + "a1" * 15, "key: ", "a" * 40,
    "-----BEGIN RSA PRIVATE KEY-----", "QUJD" * 10, "://a:b@", "v1.2.3.4", "==", "export ", "...", "python3 -m x ", "> ", "- ",
    "[repeated 7x across cluster]", "ERROR 03-01 10:07:12 [core.py:300] ", "password=", "torch 2.6.0", "x = {", "rror: ",
    "ARGS=(--a 1", 'A="--b 2', "k_k:\n  - q\n", "- q", "<Ab.XY: 'x'>", "Ab.XY", "add_argument('--a', default=3", "&nbsp;", "\u00a0",
    "| a_b | 1 |", "::", "fe80::1", "host: n-01", "on node n-01", "token ", "key ", "--master_addr ",
    "cfg={'a': 1}", '"z": {"y": 1', "a.b_c\n_d=1", "user=", "@gpu1",
)
# fmt: on
TEXTS = st.one_of(st.lists(st.sampled_from(PARTS), max_size=60).map("".join), st.text(max_size=200))


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_reading_the_reduced_paste_again_gives_the_same(text: str) -> None:
    once = read(text)
    again = read(once.text)
    assert replace(again, binary=once.binary) == once


@settings(max_examples=6, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(PARTS), min_size=5, max_size=40).map("".join), min_size=3, max_size=12),
    st.integers(200, 800),
)
def test_the_same_holds_for_texts_that_have_to_be_reduced(blocks: list[str], times: int) -> None:
    once = read("\n".join(block + f"\nline {n}" for n in range(times) for block in blocks))
    assert len(once.text.encode()) <= 64_000
    assert replace(read(once.text), binary=once.binary) == once


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_redacting_twice_changes_nothing_and_no_line_is_lost(text: str) -> None:
    once = redact(text)
    assert redact(once[0]) == once
    assert once[0].count("\n") == text.count("\n")


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_every_setting_points_into_its_line(text: str) -> None:
    paste = read(text)
    lengths = {line.number: len(line.text) for line in paste.lines}
    for setting in paste.settings:
        assert 0 <= setting.span.start <= setting.span.end <= lengths[setting.span.line]


def test_one_endless_line_is_read() -> None:
    assert read("a_b=1 " * 1_000_000).settings[0].key == "a_b"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("gpu_memory_utilization 0.8 -> 0.5 still OOM", "0.5"),
        ("I changed micro_batch_size_per_gpu: 8→2", "2"),
        ("n_samples_per_prompt 64 => 32, everything else as shipped", "32"),
        ("I tried 1) gpu_memory_utilization 0.8 -> 0.5 2) a smaller batch, still OOM", "0.5"),
        ("ppo_micro_batch_size_per_gpu from 8 to 2 and still OOM", "2"),
        ("试过 gpu_memory_utilization 0.8 -> 0.5，还是爆", "0.5"),
        ("gpu_memory_utilization 0.8 -> 0.5 works", "0.8"),
        ("a.rollout.gpu_memory_utilization=0.9 → 0.6 → 0.4 都 OOM", "0.4"),
        ("with gpu_memory_utilization=0.9 → 0.6 still OOM", "0.6"),
        ("a.rollout.gpu_memory_utilization=0.9 -> 0.5 works", "0.9"),
        ("a.rollout.gpu_memory_utilization=0.9 -> 0.5 is not solved by that", "0.5"),
        ("a.rollout.gpu_memory_utilization=0.9 -> 0.5 才行", "0.9"),
        ("gpu_memory_utilization 0.8 -> 0.5 没解决", "0.5"),
        ("gpu_memory_utilization 从 0.9 改成 0.5 还是 OOM", "0.5"),
        ("should I try gpu_memory_utilization 0.8 -> 0.5?", "0.8"),
        ("gpu_memory_utilization 0.8", "0.8"),
    ],
)
def test_of_two_values_with_an_arrow_the_run_that_failed_has_the_second(text, value):
    assert [setting.value for setting in read(text).settings] == [value]
