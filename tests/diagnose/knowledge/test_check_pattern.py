"""Patterns that can hang are refused; and no pattern of the shipped content hangs on lines that are made against it."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.knowledge import current
from diagnose.knowledge.check_pattern import blanks_in_a_row, repeats_a_repeat

PATTERNS = {
    f"{slug}: {pattern.pattern}": pattern
    for slug, signature in current().signatures.items()
    for pattern in signature.patterns
} | {
    f"{slug}: {measure.pattern.pattern}": measure.pattern
    for slug, log in current().logs.items()
    for measure in log.measures
}  # fmt: skip
SECONDS = 5  # of processor time; any pattern without a trap is done in a hundredth
LINE = 4_000  # characters of a line that are looked at
FILL = ("a", "1", " ", "1.", "1 ", "a b ", ".", "_", "GiB ", "显")
Part = tuple[int, int]


@pytest.mark.parametrize(
    "pattern",
    [
        "(x+)+", "(?:a*)*", "((a+))+", r"(?:a+b?)*", r"(?:\w+\s*){2,}", "(?:x|y+)+", "([a-z]+)*b", r"(?P<n>\d+,?)+", "(?:a{2,})+",
        "((?:a|b+)c)*", r"(?:\)+)+",
    ],
)  # fmt: skip
def test_it_refuses_a_repeat_of_a_repeat(pattern: str) -> None:
    assert repeats_a_repeat(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "x+y+", "(?:a+)?", "(?:a+){0,4}", "(?:ab)+", "[(+)]+", r"\(a+\)+", "(?:a++)+", "(?>a+)+", "(?:a{1,3})+", r"\d+(?:\.\d+)?", "[]+*]+",
    ],
)  # fmt: skip
def test_it_lets_other_patterns_pass(pattern: str) -> None:
    assert not repeats_a_repeat(pattern)


@pytest.mark.parametrize("pattern", [r"a\s*\s*\s*b", r"a\s*(?:x|y)?\s*(?:的)?\s*b", r"a\s*:?\s*[`*]?\s*b"])
def test_it_refuses_blanks_three_times_in_a_row(pattern: str) -> None:
    assert blanks_in_a_row(pattern)


@pytest.mark.parametrize("pattern", [r"a\s*x\s*y\s*b", r"a\s*+(?:x)?\s*+(?:y)?\s*+b", r"a\s*:?\s*b"])
def test_it_lets_blanks_pass_that_something_parts(pattern: str) -> None:
    assert not blanks_in_a_row(pattern)


@contextmanager
def at_most(seconds: float, name: str = "the pattern") -> Iterator[None]:
    """Ends a search that hangs: the pattern engine looks for signals now and then."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError(f"{name} hangs")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_the_guard_ends_a_pattern_that_hangs() -> None:
    with pytest.raises(TimeoutError), at_most(0.2):
        re.search("(x+x+)+y", "x" * 4_000)


def pieces(pattern: str) -> list[str]:
    """Words that the pattern asks for, without what only a pattern holds."""
    return [word for word in re.split(r"[\\()\[\]{}|?*+^$.]+|(?<=\\).", pattern) if word] or ["a"]


# For each pattern its own words and what fills lines; a part of a line is drawn for all patterns at once: which of the two, and which one.
PIECES = {name: (pieces(pattern.pattern), FILL) for name, pattern in PATTERNS.items()}
PARTS = st.tuples(st.sampled_from((0, 1)), st.integers(0, 99))


@settings(max_examples=30, deadline=None)
@given(st.lists(PARTS, max_size=6), st.lists(PARTS, min_size=1, max_size=3), st.lists(PARTS, max_size=3))
def test_no_pattern_hangs_on_a_line_made_against_it(start: list[Part], unit: list[Part], end: list[Part]) -> None:
    for name, pattern in PATTERNS.items():
        head, middle, tail = (
            "".join(PIECES[name][of][at % len(PIECES[name][of])] for of, at in parts) for parts in (start, unit, end)
        )
        line = (head + middle * (LINE // len(middle)))[: LINE - len(tail)] + tail
        with at_most(SECONDS, name):
            pattern.search(line)
