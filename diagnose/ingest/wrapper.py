"""Arguments of a wrapper script: ``bash train.sh --tokens 512`` above a script with ``case "$1" in --tokens) TOKENS="$2"``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from diagnose.ingest.lines import Row

_CALL = re.compile(
    r"(?:^|[\s;&|])(?:(?:ba|z)?sh|source|\.)[ \t]+(?:-\w+[ \t]+)*\S{1,300}\.sh\b|(?:^|\s)\./\S{1,300}\.sh\b", re.A
)
_FLAG = re.compile(
    r"(?<!\S)--(?P<flag>[A-Za-z][\w-]{0,80})(?:=|[ \t]+)(?P<value>\"[^\"\n]{0,400}\"|'[^'\n]{0,400}'|[^\s\\\"'-][^\s\\]{0,400})",
    re.A,
)
# an arm of the loop over the arguments, with what it sets on the same line or on the next
_ARM = re.compile(r"[ \t]*(?:-\w[ \t]*\|[ \t]*)?--(?P<flag>[A-Za-z][\w-]{0,80})(?:[ \t]*\|[ \t]*-\w)?\)", re.A)
_SETS = re.compile(r"[ \t]*(?P<name>[A-Za-z_]\w{0,80})=\"?\$\{?2\}?\"?(?=[\s;]|$)", re.A)


def read_wrapped(rows: Sequence[Row]) -> Iterator[tuple[str, int, str]]:
    """Each variable that such a script takes from the call that is pasted with it, with the line that sets it and its value."""
    arms = list(_arms(rows))
    given = _given(rows) if arms else {}
    for flag, name, line in arms:
        values = given.get(flag, set())
        if len(values) == 1:  # several calls that differ tell none
            yield name, line, next(iter(values))


def _arms(rows: Sequence[Row]) -> Iterator[tuple[str, str, int]]:
    """Flag, variable and line."""
    above = ""
    for row in rows:
        words = row.words
        found = _ARM.match(words) if "--" in words and ")" in words else None
        flag, start = (found["flag"], found.end()) if found else (above, 0)
        sets = _SETS.match(words, start) if flag and "=" in words else None
        if sets:
            yield flag, sets["name"], row.line.number
        above = flag if found and not sets else ""


def _given(rows: Sequence[Row]) -> dict[str, set[str]]:
    """The arguments of every call of a shell's script, which may go on over lines."""
    given: dict[str, set[str]] = {}
    goes_on = False
    for row in rows:
        words = row.words
        if words.lstrip()[:1] == "#":
            continue
        if goes_on or (".sh" in words and _CALL.search(words)):
            for found in _FLAG.finditer(words):
                given.setdefault(found["flag"], set()).add(found["value"].strip("\"'"))
            goes_on = words.rstrip().endswith("\\")
    return given
