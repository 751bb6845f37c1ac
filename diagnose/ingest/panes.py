"""Text between the lines of boxes: a console's panes side by side, and the panel that a program drew around what it says."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BARS = re.compile("[│┃║]", re.A)
_DRAWN = re.compile("│|┃|║|╭|┌|┏|╔".encode())
_ASCII = bytes(range(128))
_CORNERS = re.compile("[╭╮╰╯┌┐└┘┏┓┗┛╔╗╚╝]", re.A)
_EDGE = re.compile(r"[╭╰┌└┏┗╔╚][─━═\s]*|[─━═\s]*[╮╯┐┘┓┛╗╝]", re.A)
_FEW = 6  # lines in a row: a table's rows are parted sooner
_MOST = 2  # lines of a box that go down; a table has more
# lines that lead the eye from one depth to the next of an object that is printed (Textualize/rich rich/pretty.py: pprint), maybe behind
# the name of a process; those of an editor stay
_GUIDES = re.compile(
    r"(?P<before>(?:\([^()\n│]{1,80}\)[ ]?)?)(?P<guides>(?:│   ){1,20})(?=(?:[A-Za-z_]\w*=\S|[A-Z]\w*\($|['\"\d\])}])[^│┃║\n]*$)",
    re.A,
)


def without_boxes(data: bytes) -> bytes:
    """The text with one pane after the other and without the edges of panels; a table as it is."""
    if data.isascii() or not _DRAWN.search(data.translate(None, _ASCII)):
        return data
    lines = [_GUIDES.sub(_blank, line, count=1) if "│   " in line else line for line in data.decode().split("\n")]
    whole: list[str] = []
    at = 0
    while at < len(lines):
        end, columns = _run(lines, at)
        if end - at >= _FEW and 0 < len(columns) <= _MOST:
            whole += _panes(lines[at:end], columns)
        else:
            end = at + 1
            whole.append(_EDGE.sub("", lines[at]) if len(_CORNERS.findall(lines[at])) == _MOST else lines[at])
        at = end
    return "\n".join(whole).encode()


def _blank(found: re.Match[str]) -> str:
    return found["before"] + " " * len(found["guides"])


def _run(lines: Sequence[str], at: int) -> tuple[int, list[int]]:
    """Where the lines end that are empty or have bars in the same columns, and those columns."""
    columns = {found.start() for found in _BARS.finditer(lines[at])}
    end = at + 1
    while columns and end < len(lines):
        common = columns & {found.start() for found in _BARS.finditer(lines[end])} if lines[end] else columns
        if not common:
            break
        columns, end = common, end + 1
    return end, sorted(columns)


def _panes(lines: Sequence[str], columns: Sequence[int]) -> list[str]:
    """The lines of each pane below each other; a panel's have a blank beside its edge."""
    panes = []
    for start, end in zip((0, *(column + 1 for column in columns)), (*columns, None), strict=True):
        pane = [line[start:end].rstrip() for line in lines]
        if any(pane):
            inside = start > 0 and all(line[:1] in (" ", "") for line in pane)
            panes += [line[inside:] for line in pane]
    return panes
