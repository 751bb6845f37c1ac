"""Flags of a command that Python puts together from pieces of text: ``"--recompute-granularity full "`` on a line of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnose.ingest.python import Place, in_branch

_PIECE = re.compile(r"(?<![\w.\"'])[fF]?(?P<quote>[\"'])(?P<text>[ ]?--[A-Za-z][^\"'\n\\]{0,400})(?P=quote)", re.A)
# what may stand on the line beside the pieces: a name that is given them, brackets and signs
_BESIDE = re.compile(r"[ \t]*(?:[A-Za-z_][\w.]{0,80}[ \t]*\+?=)?[ \t(]*[ \t,+)\\]*(?:#.*)?", re.A)
_FLAG = re.compile(
    r"(?<![\w-])--(?P<key>[A-Za-z][\w.-]{0,80})(?:(?:=|[ \t]{1,3})(?P<value>(?!--)[^\s{}$]{1,200})(?=\s|$)|(?=[ \t]*(?:--|$)))",
    re.A,
)


def pieces(place: Place, words: str) -> Iterator[tuple[str, str, str, int, int]]:
    """The flags of a line that is nothing but such pieces; below a condition nobody knows whether they are given."""
    found = list(_PIECE.finditer(words))
    if not found or not _BESIDE.fullmatch(_PIECE.sub("", words)) or in_branch(place):
        return
    for piece in found:
        start = piece.start("text")
        for flag in _FLAG.finditer(piece["text"]):
            group = "value" if flag["value"] else "key"
            at, end = (start + column for column in flag.span(group))
            yield (
                (flag["key"], flag["value"], "flag", at, end)
                if flag["value"]
                else (flag["key"], "true", "flag", end, end)
            )
