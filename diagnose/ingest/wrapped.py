"""Lines that a terminal broke at its last column, put together again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

_NARROWEST, _WIDEST = 60, 400  # columns of a terminal
_NEAR = 8  # columns: text that ends by itself, or at a blank, ends there as often as at the last one
_ENOUGH = 3  # broken lines that prove a width
_IN_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=,:'\"-")
_GOES_ON = re.compile(rb" ?[\w./=,:'\")\]]", re.ASCII)
# What begins a line of its own however long the one above is.
_OWN = re.compile(
    rb"[ \t]{2}|\t|[|>#*+]|```|Traceback \(|\[rank|\(\w+ pid=|\[?\d{4}-\d\d-\d\d|(?:INFO|WARNING|ERROR|DEBUG) |$"
)
_READ = re.compile("‹|⋯ ".encode(), re.A)  # the marks of a text that was redacted or reduced
_RULE = re.compile(rb" *-{2,}(?: +-{2,})+ *")  # below the titles of a table, whose rows are all as wide
_SAME = 12  # bytes with which lines of one program begin, but for their numbers


def unwrapped(data: bytes) -> bytes:
    """The text with the lines of a narrow terminal whole; one that no terminal broke as it is."""
    lines = data.split(b"\n")
    width = _width(lines)
    if not width or _READ.search(data):  # a text that was read before is no longer as wide as it was
        return data
    return b"\n".join(_joined(lines, width))


def _width(lines: Sequence[bytes]) -> int:
    """The columns of the terminal: far more lines end there, inside a word, than just before or behind; 0 for none."""
    ending = Counter(map(len, lines))
    longer = 0
    for width in sorted((length for length in ending if length >= _NARROWEST), reverse=True):
        here = ending[width]
        if _ENOUGH <= here > longer and width <= _WIDEST:
            near = sum(ending[less] for less in range(width - _NEAR, width))
            if here > near and _broken(lines, width):
                return width
        longer += here
    return 0


def _broken(lines: Sequence[bytes], width: int) -> bool:
    """Whether enough of the lines that are so long stop inside a word, or before a blank, with which the next one goes on.

    Not where one of them is the rule of a table: then it is the table that is so wide.
    """
    found: set[bytes] = set()
    for line, after in pairwise(lines):
        if len(line) != width or line[-1] not in _IN_WORD or _start(line) == _start(after):
            continue
        if _GOES_ON.match(after) and line.isascii():
            found.add(line)
            if len(found) == _ENOUGH:
                return not any(len(line) == width and _RULE.fullmatch(line) for line in lines)
    return False


def _start(line: bytes) -> bytes:
    return line[:_SAME].translate(None, b"0123456789")


def _joined(lines: Sequence[bytes], width: int) -> list[bytes]:
    whole: list[bytes] = []
    broken = False
    for line in lines:
        if broken and not _OWN.match(line):
            whole[-1] += line
        else:
            whole.append(line)
        broken = len(line) == width and line.isascii()
    return whole
