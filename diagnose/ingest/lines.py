"""A line's words: the text without colour, log prefix, quote marks and repeat mark, with its columns kept."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from diagnose.types import Line, Span

MATCHED = 4_000  # characters of a line that are looked at

_COLOUR = r"(?:\x1b|\^\[|\\(?:x1b|033|e))?\[\d{1,3}(?:;\d{1,3}){0,4}m"
_ENTITY = {
    "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&#34;": '"', "&apos;": "'", "&#39;": "'", "&#x27;": "'", "&#96;": "`",
    "&nbsp;": " ", "&#x2F;": "/", "&#47;": "/",
}  # fmt: skip
_IN_WORDS = re.compile(rf"{_COLOUR}|{'|'.join(_ENTITY)}", re.A)
_REPEATED = re.compile(r"[ \t]*\[repeated \d+x across (?:all nodes|cluster)\].*$", re.A)

_TIME = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_STAMP = (
    rf"(?:\d{{4}}[-/]\d\d[-/]\d\d[ T]{_TIME}(?:Z|[+-]\d\d:?\d\d)?(?:[ ][EWIDF][ ]\d+[ ]\d+)?"
    rf"|\d\d-\d\d[ ]{_TIME}|[A-Z][a-z]{{2}}[ ][A-Z][a-z]{{2}}[ ][ \d]\d[ ]{_TIME}[ ]\d{{4}})"
)
_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|EXCEPTION|TRACE)"
_PLACE = r"[\w./-]{1,80}\.(?:py|cc|cpp|cu):\d{1,6}(?::\w{1,60})?"
_AROUND_PID = (
    r"(?:\(rank=\d+\))?(?:[ ](?:rank|Rank|dp|local_rank)=?\d+)?(?:,?[ ]?pid=\d+|[ ]\+\d+\w{1,4}|,[ ]ip=[^\s()]{1,60})"
)
_PREFIX = re.compile(
    rf"""
      (?P<colour>{_COLOUR}[ ]?)
    | (?P<quote>(?:&gt;|>){{1,3}}(?:[ ]|$))
    | \((?P<actor>[A-Za-z_][^\s(),]{{0,80}}){_AROUND_PID}[^()\n]{{0,80}}\)[ ]?
    | \((?P<plain>raylet|autoscaler|pid=\d+[^()\n]{{0,60}})\)[ ]?
    | (?P<rank>\[(?:rank|Rank[ ]|default|worker_?)\d{{1,5}}\]:?[ ]?)
    | (?P<task>(?:\d{{1,5}}:|\[\d{{1,7}}\])[ ](?=\[rank)|\[\d+,\d+\]<std(?:out|err)>:[ ]?)
    | (?P<stamp>[EWIF]\d{{4}}[ ]{_TIME}[ ]+\d+[ ]|\[?{_STAMP}\]?(?:[ ](?:stdout|stderr)[ ]F)?[ ]?)
    | (?P<level>\[?{_LEVEL}\]?(?:[ ]?:[ ]?|[ ]{{1,3}})(?=\[?{_STAMP})|\[{_LEVEL}\|{_PLACE}\][ ](?=\[?{_STAMP}))
    | (?P<after>(?:[-|][ ])?\[?{_LEVEL}\]?(?:[ ]?[|:-])?[ ]{{1,4}}|>>[ ]|\[?{_PLACE}\][ ]?|{_PLACE}[ ](?:--|\|)[ ]|\[[Rr]ank[ ]?\d+\][ ]?)
    """,
    re.VERBOSE | re.A,
)
_STARTS = frozenset("([>&^\\0123456789DIWECFTMS-|JANO")  # characters with which a prefix can begin


@dataclass(frozen=True, slots=True)
class Row:
    """A line with what only ingest needs: whose output it is, and the column of each character where words were changed."""

    line: Line
    source: str = ""
    columns: tuple[int, ...] | None = None

    @property
    def words(self) -> str:
        return self.line.words

    def span(self, start: int, end: int) -> Span:
        """The place in the line of a part of its words."""
        if self.columns is None:
            return Span(self.line.number, self.line.offset + start, self.line.offset + end)
        if start == end:
            return Span(self.line.number, self.columns[start], self.columns[start])
        return Span(self.line.number, self.columns[start], self.columns[end - 1] + 1)


def read_rows(lines: Iterable[tuple[int, str]]) -> tuple[Row, ...]:
    """Each numbered line with its words found."""
    return tuple(_row(number, text) for number, text in lines)


def _row(number: int, text: str) -> Row:
    seen = text if len(text) <= MATCHED else text[:MATCHED]
    start, source = 0, ""
    if seen[:1] in _STARTS or (seen[:1] == " " and seen.lstrip()[:1] in "([0123456789"):
        start, source = _prefix(seen)
    end = len(seen)
    if "[repeated " in seen and (found := _REPEATED.search(seen, start)):
        end = found.start()
    words = seen[start:end]
    if ("&" in words or "m" in words) and _IN_WORDS.search(words):
        words, columns = _without_marks(words, start)
        return Row(Line(number, text, words, start), source, columns)
    return Row(Line(number, text, words, start), source)


def _prefix(text: str) -> tuple[int, str]:
    """Where the words begin, and a name for the process that printed them (so that mixed output can be sorted)."""
    at = len(text) - len(text.lstrip(" ")) if text[:1] == " " else 0
    indent, source, in_log = at, "", False
    while found := _PREFIX.match(text, at):
        kind = found.lastgroup or ""
        if kind == "after" and not in_log:
            break
        if kind in ("actor", "plain"):
            source = found[0].strip()
        elif kind == "rank":
            source = source or found[0].strip(": ")
        in_log = in_log or kind == "stamp"
        at = found.end()
    return (0, "") if at == indent else (at, source)


def _without_marks(words: str, start: int) -> tuple[str, tuple[int, ...]]:
    """The words without colour remains and with HTML entities read, and the column of each character that is left."""
    parts: list[str] = []
    columns: list[int] = []
    at = 0
    for found in _IN_WORDS.finditer(words):
        parts.append(words[at : found.start()])
        columns.extend(range(start + at, start + found.start()))
        if entity := _ENTITY.get(found[0]):
            parts.append(entity)
            columns.append(start + found.start())
        at = found.end()
    parts.append(words[at:])
    columns.extend(range(start + at, start + len(words) + 1))
    return "".join(parts), tuple(columns)
