"""The lines in which a person or a program speaks: everything but commands, traceback frames and configuration dumps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from diagnose.types import Line, Paste, Span

_NUMERALS = {
    "one": 1, "a": 1, "an": 1, "single": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "sixteen": 16,
    "一": 1, "单": 1, "两": 2, "双": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "十六": 16,
}  # fmt: skip
# a line of arguments whose command was not pasted
_FLAG_LINE = re.compile(r"\s*--[a-z]")
_NO_DIGITS = str.maketrans("", "", "0123456789")
_REPEATS = 16  # a table of cards has as many rows
NUMERAL = r"(?:\d{1,4}|one|single|two|three|four|five|six|seven|eight|sixteen|十六|[一单两双二三四五六七八])"


def numeral(word: str) -> int:
    """A count in digits, English or Chinese."""
    return int(word) if word.isdigit() else _NUMERALS[word.lower()]


def spoken(paste: Paste) -> Iterator[Line]:
    """Every line that is not part of a command, of a traceback frame or of a configuration dump.

    A line that says what an earlier one said with other numbers is a program's, printed step after step: the first few count.
    """
    new = fresh(paste.lines)
    skipped = {number for command in paste.commands for number in range(command.first_line, command.last_line + 1)}
    skipped |= {frame.line for frame in paste.frames if frame.path}
    dumped = {setting.span.line: setting.key for setting in paste.settings if setting.shape == "dump"}
    for i, line in enumerate(paste.lines):
        # a key may also stand in a sentence; a dump begins with it
        dump = line.number in dumped and line.words.lstrip().startswith(dumped[line.number])
        if i in new and line.number not in skipped and not dump and not _FLAG_LINE.match(line.words):
            yield line


def fresh(lines: Sequence[Line]) -> frozenset[int]:
    """The places of the lines that are no more than the first few of their kind: numbers apart, the same words."""
    said: Counter[str] = Counter()
    places = []
    for i, line in enumerate(lines):
        shape = line.words.translate(_NO_DIGITS)
        said[shape] += 1
        if said[shape] <= _REPEATS:
            places.append(i)
    return frozenset(places)


def span_of(line: Line, found: re.Match[str], group: int | str = 0) -> Span:
    """Where a match in the line's words stands in its text."""
    return Span(line.number, line.offset + found.start(group), line.offset + found.end(group))
