"""Traceback frames, each process's output for itself, and the remote calls between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from diagnose.ingest.lines import Row
from diagnose.types import Frame

_FILE = re.compile(r'[\s|+>]*File "([^"\n]{1,500})", line (\d{1,7})(?:, in (<?[\w.]{1,200}>?))?', re.A)
# The same whose beginning was not copied
_CUT = re.compile(r'[\s.…]*"?([\w./~-]{1,400}\.py)", line (\d{1,7}), in (<?[\w.]{1,200}>?)\s*$', re.A)
# The same broken at a blank, before the line's number or behind it.
_BROKEN = re.compile(r'[\s|+>]*File "[^"\n]{1,500}",(?: line(?: \d{1,7},(?: in)?)?)?\s*$', re.A)
_REST = re.compile(r"\s*(?:line )?(?:\d{1,7}, )?(?:in )?<?[A-Za-z_][\w.]{0,200}>?\s*$|\s*line \d{1,7}\b", re.A)
# A panel's, and the same where the panel's edges are gone
_BOXED = re.compile(
    r"\s*(?P<edge>[│|]\s+)?(?P<path>\S{1,400}\.py):(?P<line>\d{1,7}) in (?P<name><?[\w.]{1,200}>?)(?(edge)|\s*$)", re.A
)
# A notebook's: “File /usr/lib/x.py:12, in Class.method(self)”, before IPython 8 “/usr/lib/x.py in method(self)”
_NOTEBOOK = re.compile(
    r"\s*(?:File )?(?P<path>(?:/|~|[A-Za-z]:[\\/])[^\s\"'()]{1,400}\.py)(?::(?P<line>\d{1,7}))?,? in (?P<name><?[\w.]{1,200}>?)\(",
    re.A,
)
# A remote call as Ray prints it: ray::Class.method(), ray::function(), ray::name:Class.method()
_REMOTE = re.compile(r"ray::((?:[\w.-]{1,80}:){0,3})([A-Za-z_]\w{0,80}(?:\.[A-Za-z_<]\w{0,80}>?){0,4})\(\)", re.A)
# the same in a person's sentence of what ran out: “OOM at ray::Class.method”
_NAMED = re.compile(
    r"\b(?:OOMs?|out of memory)\b[^\n]{0,60}\bray::((?:[\w.-]{1,80}:){0,3})([A-Za-z_]\w{0,80}(?:\.[A-Za-z_]\w{0,80}){1,4})(?![\w.(:])",
    re.A | re.I,
)
# whose line it is, as Ray writes before every line of a worker: (Class pid=…)
_ACTOR = re.compile(r"\(([A-Za-z_]\w{0,80}) pid=\d", re.A)
_MARKS = ("ray::", "File ", ".py:", ".py in ", '.py", line ')
_HEADER = "Traceback (most recent call last)"
_ERROR = re.compile(r"[A-Za-z_][\w.]{0,120}(?:Error|Exception|Interrupt|Exit|Killed)\b", re.A)
_MOST_ARGUMENTS = 30  # lines of one call
_CARETS = re.compile(r"[\s|]*[\^~]{1,300}[\s\^~]*$", re.A)


@dataclass(slots=True)
class _Stream:
    """Where one process's output stands: its traceback (-1 = none open), how many lines of source may follow, and how many brackets
    the ones so far have left open: since Python 3.13 a call is printed with all its lines.
    """

    traceback: int = -1
    source_lines: int = 0
    brackets: int = 0
    arguments: int = 0


def read_frames(rows: Sequence[Row]) -> tuple[list[Frame], set[int]]:
    """All frames, those of one traceback outermost first, and the numbers of the lines that hold frames and their source."""
    frames: list[Frame] = []
    used: set[int] = set()
    streams: dict[str, _Stream] = {}
    count = 0
    for row, after in zip_longest(rows, rows[1:]):
        words = row.words
        if row.line.number in used:
            continue  # the rest of a broken frame
        stream = streams.setdefault(row.source, _Stream())
        if _HEADER in words:
            stream.traceback, stream.source_lines, count = count, 0, count + 1
            continue
        rest = after if after and 'File "' in words and _BROKEN.match(words) and _REST.match(after.words) else None
        found = _frame(row, rest) if any(mark in words for mark in _MARKS) else []
        if rest and found:
            used.add(rest.line.number)
        if found:
            if stream.traceback < 0:
                stream.traceback, count = count, count + 1
            owner = actor[1] if (actor := _ACTOR.match(row.source)) else ""
            frames.extend(_in_traceback(frame, stream.traceback, owner) for frame in found)
            stream.source_lines = 2 if found[0].path else 0
            stream.brackets = stream.arguments = 0
            if found[0].path:
                used.add(row.line.number)
        elif stream.traceback >= 0:
            _after_frame(row, stream, used)
    return frames, used


def _after_frame(row: Row, stream: _Stream, used: set[int]) -> None:
    """A line behind a frame: its source, carets, or the error that ends the traceback."""
    words = row.words
    if _CARETS.match(words):
        used.add(row.line.number)
    elif (stream.source_lines or stream.brackets > 0) and words[:1] in " \t|":
        stream.source_lines = max(stream.source_lines - 1, 0)
        stream.brackets = _left_open(words, stream)
        stream.arguments += 1
        used.add(row.line.number)
    elif words.strip():
        stream.source_lines = stream.brackets = 0
        if _ERROR.match(words.lstrip(" |+")):
            stream.traceback = -1


def _left_open(words: str, stream: _Stream) -> int:
    """How many brackets are open behind a line of the source; none behind an error, which some indent as well, or too long a call."""
    if _ERROR.match(words.lstrip(" |+")) or stream.arguments >= _MOST_ARGUMENTS:
        return 0
    return stream.brackets + sum(map(words.count, "([{")) - sum(map(words.count, ")]}"))


def _frame(row: Row, rest: Row | None = None) -> list[Frame]:
    """The frames of a line, or of one that was broken and its ``rest``."""
    number = row.line.number
    words = f"{row.words.rstrip()} {rest.words.strip()}" if rest else row.words
    if found := _FILE.match(words) or _CUT.match(words):
        return [Frame(_slashed(found[1]), found[3] or "", number, int(found[2]))]
    if found := _BOXED.match(words):
        return [Frame(_slashed(found["path"]), found["name"], number, int(found["line"]))]
    if found := _NOTEBOOK.match(words):
        return [Frame(_slashed(found["path"]), found["name"].rpartition(".")[2], number, int(found["line"] or 0))]
    frames = []
    for call in [*_REMOTE.finditer(row.words)] or _NAMED.finditer(row.words):
        owner, _, function = call[2].rpartition(".")
        owner = owner.rsplit(".", 1)[-1] or call[1].rstrip(":").rsplit(":", 1)[-1]
        frames.append(Frame("", function, number, owner=owner))
    return frames


def _slashed(path: str) -> str:
    return path.replace("\\\\", "/").replace("\\", "/")


def _in_traceback(frame: Frame, traceback: int, owner: str) -> Frame:
    return Frame(frame.path, frame.function, frame.line, frame.source_line, frame.owner or owner, traceback)
