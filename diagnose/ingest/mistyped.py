"""Slips of the keyboard in the words by which people say that memory ran out: “outof memory”, “out of memmory”, “显存暴了”."""

from __future__ import annotations

import re

_MEMORY = "memory"
# “memory” alone may be misspelt in a name; behind these words it is what is meant
_BEFORE = r"(?:gpu|cuda|npu|cpu|host|device|system|video|enough|insufficient|more)"
SLIP = re.compile(
    r"(?<![\w./-])(?:out[ -]?(?:of|fo|off)[ -]?(?P<out>m[a-z]{3,7})|(?P<head>"
    rf"{_BEFORE}[ -])(?P<other>m[a-z]{{3,7}}))(?![\w./=-])|(?<=[显内]存)暴(?=了|掉)|暴(?=[显内]存)",
    re.I | re.A,
)
_FINE = frozenset(("out of memory", "out-of-memory", "outofmemory"))


def meant(found: re.Match[str]) -> str:
    """What was meant by what ``SLIP`` found: the same where nothing is wrong with it."""
    word = found["out"] or found["other"]
    if not word:
        return "爆"
    if found[0].lower() in _FINE or not _is_memory(word.lower()):
        return found[0]
    return f"{found['head'] or 'out of '}{_MEMORY}"


def _is_memory(word: str) -> bool:
    """Whether the word is that one with a letter too many, too few, wrong, or in the place of its neighbour."""
    start = next(
        (at for at, (a, b) in enumerate(zip(word, _MEMORY, strict=False)) if a != b), min(len(word), len(_MEMORY))
    )
    rest, right = word[start:], _MEMORY[start:]
    swapped = rest[1:2] + rest[:1] + rest[2:]
    return word == _MEMORY or right in (rest[1:], swapped) or right[1:] in (rest, rest[1:])
