"""The colours of the pages, computed from the file that defines them (WCAG 2.2, 1.4.3 and 1.4.11)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TOKENS = Path(__file__).resolve().parents[2] / "static" / "css" / "tokens.css"
PAIR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{3,6}), (#[0-9a-f]{3,6})\)")
GROUNDS = ("paper", "sheet", "sunk")
TERMS = ("params", "grads", "optim", "gather", "act", "logits", "engine", "kv", "fixed")


def colours() -> dict[str, tuple[str, str]]:
    return {name: (light, dark) for name, light, dark in PAIR.findall(TOKENS.read_text())}


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ratio(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def worst(ink: str, grounds: tuple[str, ...]) -> float:
    named = colours()
    return min(ratio(named[ink][theme], named[ground][theme]) for theme in (0, 1) for ground in grounds)


@pytest.mark.parametrize("ink", ["ink", "ink-2", "ink-3", "link", "link-hover"])
def test_words_can_be_read_on_every_ground(ink):
    assert worst(ink, GROUNDS) >= 4.5


@pytest.mark.parametrize("verdict", ["out", "close", "fits"])
def test_verdicts_can_be_read_on_every_ground_and_on_their_own_wash(verdict):
    assert worst(verdict, (*GROUNDS, f"{verdict}-wash")) >= 4.5


@pytest.mark.parametrize(
    ("ink", "ground"), [("act-ink", "act"), ("act-ink", "act-hover"), ("out-ink", "out"), ("ink", "mark")]
)
def test_words_can_be_read_on_filled_pieces(ink, ground):
    assert worst(ink, (ground,)) >= 4.5


@pytest.mark.parametrize("term", TERMS)
def test_labels_can_be_read_inside_their_terms(term):
    assert worst(f"t-{term}-ink", (f"t-{term}",)) >= 4.5


@pytest.mark.parametrize("edge", ["edge", "focus"])
def test_borders_and_focus_can_be_seen_on_every_ground(edge):
    assert worst(edge, GROUNDS) >= 3
