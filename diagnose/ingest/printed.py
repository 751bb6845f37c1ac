"""A configuration that a program prints over many rows, one key in each: mostly blanks, and no row stands without the others.

Trainers print what they were started with as ``pprint`` and ``json.dumps`` write it (verl v0.9.0 trainer/main_ppo.py: run, 900 rows, 85 kB
with Ray's prefix and 28 kB without). Brackets nest its keys: the blanks say nothing, and a row that is left out moves all that follow.
A table of arguments has a key and its value in each row, and dots between them (NVIDIA/Megatron-LM@d98e8a6 training/arguments.py:
_print_args, 600 to 1,100 rows, 60 kB without a prefix): each row stands for itself, and the dots say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_PREFIX = rb"(?:\([^()\n]{1,80}\) ?)?"  # of Ray, before each row
_BEGINS = re.compile(rb"(" + _PREFIX + rb")[ \t]{0,8}\{(?:['\"][\w.]{1,80}['\"]: .*)?$")
_GOES_ON = re.compile(rb"(" + _PREFIX + rb")[ \t]*(?=\S)(?:['\"\[{].*|[\w.+-]{0,40}[\]})]*,?)$")
_BLANKS = re.compile(rb"^" + _PREFIX + rb"[ \t]*")
_ROW = re.compile(rb"(?:" + _PREFIX + rb")[ \t]*(?P<key>[A-Za-z_][\w.]{1,80}) \.{3,80} ?(?P<value>.*)$")
_UNSET = (b"None", b"", b"[]", b"{}")
_FEW = 20  # rows, below which no such thing is cut
ROOM = 32_000  # bytes of them, without their blanks, that a long text keeps


def printed(lines: Sequence[bytes]) -> list[range]:
    """Where configurations stand that are kept whole: the first ones, as many as have room, each once."""
    runs: list[range] = []
    left, known = ROOM, set[bytes]()
    for run in _runs(lines):
        body = b"\n".join(without_blanks(lines[at]) for at in run)
        if body in known or len(body) > left:
            continue
        known.add(body)
        left -= len(body)
        runs.append(run)
    return runs


def without_blanks(line: bytes) -> bytes:
    """A row of one as it is read: behind its prefix and its blanks, of which one stays."""
    return b" " + _BLANKS.sub(b"", line, count=1)


def without_dots(lines: Sequence[bytes]) -> tuple[dict[int, bytes], set[int]]:
    """The rows of tables of arguments by their places, as they are read, and the places of those that have no value."""
    if not any(b" ...." in line for line in lines):
        return {}, set()
    rows = {at: row for at, line in enumerate(lines) if b" ..." in line and (row := _ROW.match(line))}
    if len(rows) < _FEW:
        return {}, set()
    short = {at: b" " + row["key"] + b" .... " + row["value"] for at, row in rows.items()}
    return short, {at for at, row in rows.items() if row["value"].strip() in _UNSET}


def _runs(lines: Sequence[bytes]) -> Iterator[range]:
    at = 0
    while at < len(lines):
        begins = _BEGINS.match(lines[at]) if b"{" in lines[at] else None
        end = at + 1
        while begins and end < len(lines) and (goes_on := _GOES_ON.match(lines[end])) and goes_on[1] == begins[1]:
            end += 1
        if end - at >= _FEW:
            yield range(at, end)
        at = end
