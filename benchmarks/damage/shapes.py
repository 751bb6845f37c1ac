"""What the kinds of damage are made of: a change to every line, a replacement, something before and behind."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

Damage = Callable[[str], str]


def each_line(text: str, change: Damage) -> str:
    return "\n".join(change(line) for line in text.split("\n"))


def prefixed(prefix: str) -> Damage:
    """Every line that says something behind what a launcher, a collector or a log puts there."""
    return lambda text: each_line(text, lambda line: prefix + line if line.strip() else line)


def replaced(*pairs: tuple[str, str]) -> Damage:
    def change(text: str) -> str:
        for old, new in pairs:
            text = text.replace(old, new)
        return text

    return change


def substituted(pattern: str | re.Pattern[str], by: str) -> Damage:
    return partial(re.compile(pattern).sub, by)


def between(before: str, after: str) -> Damage:
    return lambda text: f"{before}\n\n{text}\n\n{after}"
