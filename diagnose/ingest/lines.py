"""A line's words: the text without colour, log prefix, quote marks and repeat mark, with its columns kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from diagnose.ingest.hunks import after_change
from diagnose.ingest.labels import LEVEL, counted_or_named, learned
from diagnose.ingest.mistyped import SLIP, meant
from diagnose.types import Line, Span

MATCHED = 4_000  # characters of a line that are looked at

_COLOUR = r"(?:\x1b|\^\[|\\(?:x1b|033|e))?\[\d{1,3}(?:;\d{1,3}){0,4}m"
_ENTITY = {
    "&lt;": "<", "&#60;": "<", "&gt;": ">", "&#62;": ">", "&amp;": "&", "&#38;": "&", "&quot;": '"', "&#34;": '"', "&nbsp;": " ",
    "&#160;": " ", "&apos;": "'", "&#39;": "'", "&#039;": "'", "&#x27;": "'", "&#96;": "`", "&#61;": "=", "&#x3D;": "=",
    "&#x2F;": "/", "&#47;": "/",
}  # fmt: skip
_IN_WORDS = re.compile(rf"{_COLOUR}|{'|'.join(_ENTITY)}", re.A)
_REPEATED = re.compile(r"[ \t]*\[repeated \d+x across (?:all nodes|cluster)\].*$", re.A)

_TIME = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
# syslog and journald name the host and the program behind the time (RFC 3164)
_SYSLOG = rf"[A-Z][a-z]{{2}}[ ][ \d]\d[ ]{_TIME}(?:[ ][\w.‹›-]{{1,64}}[ ][\w./@-]{{1,60}}(?:\[\d+\])?:)?"
_STAMP = (
    rf"(?:\d{{4}}[-/]\d\d[-/]\d\d(?:[ T]|,[ ]){_TIME}(?:Z|[ ]UTC|[+-]\d\d:?\d\d)?(?:[ ][EWIDF][ ]\d+[ ]\d+)?"
    rf"|\d\d-\d\d[ ]{_TIME}|[A-Z][a-z]{{2}}[ ][A-Z][a-z]{{2}}[ ][ \d]\d[ ]{_TIME}[ ]\d{{4}}|{_SYSLOG}|{_TIME}(?=\]?[ ]))"
)
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
    | (?P<level>\[?{LEVEL}\]?(?:[ ]?:[ ]?|[ ]{{1,3}})(?=\[?{_STAMP})|\[{LEVEL}\|{_PLACE}\][ ](?=\[?{_STAMP}))
    | (?P<pod>\[pod/[^\]\s]{{1,160}}\][ ])
    | (?P<after>(?:[-|][ ])?(?:[\w.]{{1,80}}[ ]-[ ](?=\[?{LEVEL}))?\[?{LEVEL}\]?(?:[ ]{{0,5}}[|:-][ ]|[ ]{{1,4}})
        |>>[ ]|\[?{_PLACE}\][ ]?|{_PLACE}[ ](?:--|\|)[ ]|\[[Rr]ank[ ]?\d+\][ ]?|\{{{_PLACE}\}}[ ]
        |[\w.<>]{{1,80}}:[\w<>]{{1,60}}:\d{{1,6}}[ ]-[ ])
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
    lines = list(lines)
    patch = after_change(lines)
    own = [line for line in lines if line[0] not in patch] if patch else lines
    labels = counted_or_named(own) | learned(own, lambda text, start: _prefix(text, start, "")[0])
    if not patch:
        return tuple(_row(number, text, *labels.get(number, (0, ""))) for number, text in lines)
    return tuple(_patched(lines, patch, labels))


def _patched(
    lines: Iterable[tuple[int, str]], patch: Mapping[int, str | None], labels: Mapping[int, tuple[int, str]]
) -> Iterator[Row]:
    """The same where patches stand among the lines: a line that one takes away has no words, and does not end the command around it."""
    goes_on = False
    for number, text in lines:
        sign = patch.get(number, "")
        if sign is None:
            words = "\\" if goes_on else ""
            yield Row(Line(number, text, words, len(text)), "", (len(text), len(text)))
            continue
        row = _row(number, text, len(sign), "") if number in patch else _row(number, text, *labels.get(number, (0, "")))
        goes_on = row.words.rstrip().endswith("\\")
        yield row


def _row(number: int, text: str, start: int, source: str) -> Row:
    seen = text if len(text) <= MATCHED else text[:MATCHED]
    first = seen[start : start + 1]
    if first in _STARTS or (first == " " and seen[start:].lstrip()[:1] in "([0123456789"):
        start, source = _prefix(seen, start, source)
    end = len(seen)
    if "[repeated " in seen and (found := _REPEATED.search(seen, start)):
        end = found.start()
    words = seen[start:end]
    columns: tuple[int, ...] | None = None
    if ("&" in words or "[" in words) and _IN_WORDS.search(words):
        words, columns = _changed(words, start, _IN_WORDS, lambda found: _ENTITY.get(found[0], ""))
    elif SLIP.search(words):
        words, columns = _changed(words, start, SLIP, meant)
    return Row(Line(number, text, words, start), source, columns)


def _prefix(text: str, start: int, source: str) -> tuple[int, str]:
    """Where the words begin, and a name for the process that printed them (so that mixed output can be sorted)."""
    at = start
    while text[at : at + 1] == " ":
        at += 1
    indent, in_log, only_colour = at, False, True
    while found := _PREFIX.match(text, at):
        kind = found.lastgroup or ""
        if kind == "after" and not in_log:
            break
        if kind in ("actor", "plain"):
            source = f"{source} {found[0].strip()}".lstrip()
        elif kind == "rank":
            source = source or found[0].strip(": ")
        in_log = in_log or kind == "stamp"
        only_colour = only_colour and kind == "colour"
        at = found.end()
    # a colour behind an indent is taken out of the words, which keep the indent
    return (start, source) if only_colour and indent > start or at == indent else (at, source)


def _changed(
    words: str, start: int, form: re.Pattern[str], instead: Callable[[re.Match[str]], str]
) -> tuple[str, tuple[int, ...]]:
    """The words with something in the place of what is found, and the column of each character that is left."""
    parts: list[str] = []
    columns: list[int] = []
    at = 0
    for found in form.finditer(words):
        parts.append(words[at : found.start()])
        columns.extend(range(start + at, start + found.start()))
        put = instead(found)
        parts.append(put)
        columns.extend(start + min(found.start() + i, found.end() - 1) for i in range(len(put)))
        at = found.end()
    parts.append(words[at:])
    columns.extend(range(start + at, start + len(words) + 1))
    return "".join(parts), tuple(columns)
