"""The tables of TOML: ``[trainer.model]`` on a line of its own stands before every key below it, up to the next table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnose.ingest.lines import Row

HEAD = re.compile(
    r"[ \t]{0,8}\[{1,2}(?P<name>[a-z_][\w-]{0,60}(?:\.[A-Za-z_][\w-]{0,60}){0,6})\]{1,2}[ \t]*(?:#.*)?$", re.A
)
_PAIR = re.compile(r"[ \t]{0,8}[A-Za-z_][\w.-]{0,80}[ \t]?=[ \t]?(?![=~>])\S", re.A)
# a list over several lines, a comment or nothing
_WITHIN = re.compile(r"[ \t]*(?:#.*|[\[\]{}\"'\d].{0,400})?$", re.A)


def tables(rows: Sequence[Row]) -> dict[int, str]:
    """The table in which a line's pair stands, by the line's number. A line of anything else, or one left out, ends it."""
    found: dict[int, str] = {}
    name, last = "", 0
    for row in rows:
        if row.line.number != last + 1:
            name = ""
        last = row.line.number
        if head := HEAD.match(row.words):
            name = head["name"]
        elif name and _PAIR.match(row.words):
            found[row.line.number] = name
        elif not _WITHIN.match(row.words):
            name = ""
    return found
