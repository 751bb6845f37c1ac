"""From a long log to 64 kB: what stays, where it stood, and that nothing secret stays."""

from __future__ import annotations

from diagnose.ingest import read
from diagnose.ingest.reduce import LIMIT, reduce_text

FILLER = [f"progress {n} of many, all is well and nothing is to be told here" for n in range(12_000)]


def long_text(*lines: str, at: int = 6_000) -> str:
    return "\n".join([*FILLER[:at], *lines, *FILLER[at:]])


def test_it_leaves_a_short_text_whole() -> None:
    text = "\n".join(FILLER[:500])
    assert reduce_text(text.encode()) == text


def test_it_keeps_within_the_limit() -> None:
    for text in (long_text(), "显存不足 " * 60_000, "10.0.0.1 " * 40_000, "\n".join("10.0.0.1" for _ in range(30_000))):
        assert len(reduce_text(text.encode()).encode()) <= LIMIT


def test_it_keeps_the_telling_lines_with_their_numbers() -> None:
    telling = [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "python3 -m pkg.main \\",
        "    data.batch=4 \\",
        "    --flag 3",
        "zero_stage ................ 3",
        '  File "/usr/lib/python3/a.py", line 3, in f',
        "    self.source_line()",
        "vllm                 0.8.2",
    ]
    paste = read(long_text(*telling))
    kept = {line.text: line.number for line in paste.lines}
    assert [kept.get(line) for line in telling] == list(range(6_001, 6_009))
    assert paste.total_lines == 12_008


def test_it_keeps_the_first_and_the_last_lines() -> None:
    numbers = [line.number for line in read(long_text()).lines]
    assert (numbers[0], numbers[-1]) == (1, 12_000)


def test_it_drops_repeats_that_differ_in_numbers_only() -> None:
    errors = [f"(W pid={n}) RuntimeError: out of memory on rank {n}" for n in range(500)]
    kept = [line for line in read(long_text(*errors)).lines if "RuntimeError" in line.text]
    assert 1 <= len(kept) <= 6


def test_it_takes_secrets_out_of_what_it_chooses() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(["QUJDREVGR0hJSktMTU5PUFFS"] * 20)
    error = "error: hf_" + "aB3" * 12 + " at 10.1.2.3, out of memory"
    text = reduce_text(f"{key}\n{long_text(error)}".encode())
    assert "aB3aB3" not in text
    assert "10.1.2.3" not in text
    assert "QUJDREVGR0" not in text


def test_it_cuts_a_line_that_is_too_long_for_a_long_text() -> None:
    (line,) = read("x=1 " * 200_000).lines
    assert len(line.text) <= 4_001
