"""Whether a pattern can hang on a line that almost matches: ``(x+)+`` and its kin take exponential time, blanks in a row cubic time."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PART = re.compile(
    r"\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]"  # an escape, a class
    r"|(?P<open>\((?!\?#)(?P<atomic>\?>)?)|(?P<close>\))"
    r"|(?P<endless>[*+]|\{\d*,\})(?P<manner>[?+]?)|\{\d+(?:,\d+)?\}[?+]?|.",
    re.S,
)

_BLANKS = r"\\s\*(?!\+)"
_OPTIONAL = r"(?:(?:\((?:\?:|\?P<\w+>)?(?:[^()\\]|\\.)*\)|\[[^\]]*\]|[^\\()\[\]|*+?])[?*])?"
_IN_A_ROW = re.compile(rf"{_BLANKS}{_OPTIONAL}{_BLANKS}{_OPTIONAL}{_BLANKS}")


def may_hang(pattern: str) -> str:
    """What makes it hang on a long line, with the cure; empty for a pattern that does not."""
    if repeats_a_repeat(pattern):
        return "repeats a group that repeats: it can hang on a long line, rewrite it"
    if blanks_in_a_row(pattern):
        return r"has \s* three times with nothing that must stand between: it can hang on a long line, write \s*+"
    return ""


def blanks_in_a_row(pattern: str) -> bool:
    """Whether blanks may stand three times with nothing between: on a line of blanks that takes time by the cube of its length."""
    return _IN_A_ROW.search(pattern) is not None


def repeats_a_repeat(pattern: str) -> bool:
    """Whether a group without an upper limit holds something without one; what never gives back (``x++``, ``(?>…)``) is none."""
    holds = [False]  # for each open group whether it holds an endless repeat
    atomic = [False]
    closed = False  # whether the part before was a group that does
    for part in _PART.finditer(pattern):
        kind = part.lastgroup
        if part["open"] is not None:
            holds.append(False)
            atomic.append(part["atomic"] is not None)
            closed = False
        elif kind == "close" and len(holds) > 1:
            closed = holds.pop() and not atomic.pop()
            holds[-1] = holds[-1] or closed
        elif part["endless"] is not None and part["manner"] != "+":
            if closed:
                return True
            holds[-1], closed = True, False
        else:
            closed = False
    return False


def product_misfits(pattern: re.Pattern[str] | None, part: re.Pattern[str] | None) -> Iterator[str]:
    """What is wrong with the pattern whose findings are multiplied, or with that of the part in which they stand."""
    if pattern is None:
        if part is not None:
            yield "is missing, and a part is named: a part is where sizes to multiply stand"
        return
    if part is not None and (misfit := may_hang(part.pattern)):
        yield f"has a part that {misfit}"
    if pattern.groups != 1:
        yield f"has {pattern.groups} groups, must have one, around the digits"
    if misfit := may_hang(pattern.pattern):
        yield misfit
