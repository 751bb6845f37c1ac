"""A configuration that a program prints over many rows, one key in each: mostly blanks, and no row stands without the others.

Trainers print what they were started with as ``pprint`` and ``json.dumps`` write it (verl v0.9.0 trainer/main_ppo.py: run, 900 rows, 85 kB
with Ray's prefix and 28 kB without). Brackets nest its keys: the blanks say nothing, and a row that is left out moves all that follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_PREFIX = rb"(?:\([^()\n]{1,80}\) ?)?"  # of Ray, before each row
_BEGINS = re.compile(rb"(" + _PREFIX + rb")[ \t]{0,8}\{(?:['\"][\w.]{1,80}['\"]: .*)?$")
_GOES_ON = re.compile(rb"(" + _PREFIX + rb")[ \t]*(?=\S)(?:['\"\[{].*|[\w.+-]{0,40}[\]})]*,?)$")
_BLANKS = re.compile(rb"^" + _PREFIX + rb"[ \t]*")
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
