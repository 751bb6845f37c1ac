"""Lines too long to be one: a table's cell, a form of one line or a chat took the ends of many out, or a program prints its arguments.

A line end is put back before what begins a line of its own: a frame, a worker's mark, a time, an error; and between the arguments that a
trainer prints as one object or one dictionary (ms-swift v4.6.0 swift/pipelines/base.py, 15 kB; OpenRLHF v0.11.2 cli/train_ppo_ray.py).
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
_OBJECT, _NEXT_ARGUMENT = re.compile(rb"\w\((?=[A-Za-z_]\w{0,60}=)"), re.compile(rb",[ ](?=[A-Za-z_]\w{0,60}=)")
_DICTIONARY, _NEXT_KEY = re.compile(rb"\{(?=['\"][\w.]{1,80}['\"]:)"), re.compile(rb",[ ]?(?=['\"][\w.]{1,80}['\"]:)")
_FEW = 20  # arguments, below which a long line is something else
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
    if len(line) > _LONG:
        line = _in_rows(_in_rows(line, _OBJECT, _NEXT_ARGUMENT, b""), _DICTIONARY, _NEXT_KEY, b"\n")
    return _BEGINS.sub(b"\n", _SOURCE.sub(rb"\1\n    ", line))


def _in_rows(line: bytes, opens: re.Pattern[bytes], parts: re.Pattern[bytes], before: bytes) -> bytes:
    """A line with each argument in a row of its own, where it opens a list of them; ``before`` stands between it and what is before it."""
    begins = opens.search(line)
    if begins is None:
        return line
    head, arguments = line[: begins.start()], line[begins.start() :]
    rows, number = parts.subn(b",\n ", arguments)
    return head + before * bool(head) + rows if number >= _FEW else line
