"""Many lines of a log that became one: a table's cell, a form of one line or a chat took the line ends out.

A line end is put back before what begins a line of its own: a frame, a worker's mark, a time, an error.
"""

from __future__ import annotations

import re

_LONG = 4_000  # bytes; of a longer line the beginning alone would be read
_FRAME = rb'File "[^"\n]{1,300}", line \d{1,7}, in <?[\w.]{1,200}>?'
# blanks that may have been a line end; all of a run at once, since a megabyte of them would be tried from each
_BEGINS = re.compile(
    rb"(?<![ \t])[ \t]++(?=(?:Traceback \(most recent call last\):|"
    + _FRAME
    + rb"(?=[ \t\n]|$)|\([A-Za-z]\w{0,60} pid=\d"
    rb"|\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|[A-Za-z][\w.]{0,80}(?:Error|Exception)(?:\(\w{1,80}\))?: ))"
)
_SOURCE = re.compile(rb"(" + _FRAME + rb")[ \t]++(?=\S)")
_HEADER = b"Traceback (most recent call last):"
_MARK = b'", line '


def parted(data: bytes) -> bytes:
    """The text with the line ends back in every line that holds several frames, or is too long to be one."""
    if not any(map(_is_joined, lines := data.split(b"\n"))):
        return data
    return b"\n".join(_parted(line) if _is_joined(line) else line for line in lines)


def _is_joined(line: bytes) -> bool:
    frames = line.count(_MARK)
    return len(line) > _LONG or frames > 1 or (frames == 1 and _HEADER in line)


def _parted(line: bytes) -> bytes:
    return _BEGINS.sub(b"\n", _SOURCE.sub(rb"\1\n    ", line))
