"""Sums of a shell."""

from __future__ import annotations

import time

import pytest

from diagnose.ingest.arithmetic import arithmetic


@pytest.mark.parametrize(
    "text", ["", "M", "A = 5", "A++", "A & 4", "4 / A - (", "4 / 0", "A > 1 > 0", "1.5", "2 ** 999", "f(A)"]
)
def test_what_is_no_sum_or_names_what_is_not_known_gives_nothing(text: str) -> None:
    assert arithmetic(text, {"A": 8}.__getitem__) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16 / A", 2),
        (r"16 \* A", 128),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7 / -2", -3),
        ("!A == 0", 1),
        ("!A == 1", 0),
        ("A > 1 && A < 9", 1),
    ],
)
def test_a_sum_comes_to_what_a_shell_makes_of_it(text: str, value: int) -> None:
    assert arithmetic(text, {"A": 8}.__getitem__) == value


def test_long_sums_are_read_in_time() -> None:
    begun = time.process_time()
    for sign in "+-*/%":
        arithmetic(sign.join("1" * 90), {}.__getitem__)
    arithmetic("(" * 90 + "1" + ")" * 90, {}.__getitem__)
    assert time.process_time() - begun < 5  # a hundredth alone
