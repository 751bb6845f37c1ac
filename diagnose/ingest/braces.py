"""JSON and Python dictionaries, whole, cut off, or as fragments; nested keys as full paths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from diagnose.ingest.lines import Row
from diagnose.types import Setting

# A line that can stand inside a dictionary: closing brackets, a quoted key with what follows, or an item of a list.
_INSIDE = re.compile(
    r"""\s*[\]\[{}(),\s]*(?:["'][\w./:@*+-]{1,120}["']\s*:\s*\S.*|["'][^"']{0,300}["']\s*,?|[\w.+-]{1,40},?)?[\]}),\s]*$"""
)
_OPENING = re.compile(r"""\{\s*(?:["'][\w./:@*+-]{1,120}["']\s*:|$)""")
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.){0,2000}+"|'(?:[^'\\]|\\.){0,2000}+')|(?P<mark>[{}\[\]:,])|(?P<scalar>[^\s{}\[\]:,"']++)"""
)
_KEY = re.compile(r"[A-Za-z_0-9][\w./@*+-]{0,120}$")


def read_braces(rows: Sequence[Row]) -> tuple[list[Setting], set[int]]:
    """The settings in dictionaries, and the numbers of the lines that they stand on."""
    settings: list[Setting] = []
    used: set[int] = set()
    for run in _runs(rows):
        found = _read_run(run)
        if found:
            settings.extend(found)
            used.update(row.line.number for row in run)
    return settings, used


def _runs(rows: Sequence[Row]) -> Iterable[list[Row]]:
    """Lines that follow each other in one process's output and belong to one dictionary."""
    open_runs: dict[str, list[Row]] = {}
    for row in rows:
        run = open_runs.get(row.source)
        if run and (row.line.number != run[-1].line.number + 1 and not row.source):
            yield open_runs.pop(row.source)
            run = None
        if run and _INSIDE.match(row.words) and row.words.strip():
            run.append(row)
            continue
        if run:
            yield open_runs.pop(row.source)
        if _opens(row.words):
            open_runs[row.source] = [row]
    yield from open_runs.values()


def _opens(words: str) -> bool:
    if '"--' in words or "'--" in words:
        return False  # a list of flags, which is read as such
    if ("{" in words and _OPENING.search(words)) or words.strip() == "{":
        return True
    stripped = words.lstrip()
    return stripped[:1] in "\"'" and ":" in stripped and bool(_INSIDE.match(words))


def _read_run(run: list[Row]) -> list[Setting]:
    reader = _Reader()
    for at, row in enumerate(run):
        start = 0
        if at == 0 and (found := _OPENING.search(row.words)):
            start = found.start()
        for token in _TOKEN.finditer(row.words, start):
            reader.take(row, token)
        reader.end_of_row()
        if reader.closed and at == 0:
            break
    return reader.settings


class _Reader:
    """A pushdown reader that never fails: what does not fit is passed over."""

    def __init__(self) -> None:
        self.settings: list[Setting] = []
        self.path: list[str] = []  # one key for each open bracket; "" for a list or the outermost
        self.lists: list[bool] = []
        self.key: str | None = None
        self.pending: tuple[Row, re.Match[str]] | None = None  # a string that may turn out to be a key
        self.awaits_value = False
        self.closed = False
        self.list_at: tuple[Row, int, str] | None = None  # a list of scalars that is a value, while it is open

    def take(self, row: Row, token: re.Match[str]) -> None:
        kind, text = token.lastgroup, token[0]
        if self.closed:
            return
        if kind == "mark":
            self._mark(row, token)
        elif self.awaits_value and self.key is not None:
            self._value(row, token)
        elif kind == "string" or _KEY.match(text):
            self.pending = (row, token)

    def end_of_row(self) -> None:
        self.pending = None
        self.list_at = None

    def _mark(self, row: Row, token: re.Match[str]) -> None:
        mark = token[0]
        if mark == ":" and self.pending and not self.awaits_value:
            self.key = self.pending[1][0].strip("\"'")
            self.awaits_value, self.pending = True, None
        elif mark in "{[":
            self._open(row, token)
        elif mark in "}]":
            self._close(row, token)
        elif mark == ",":
            self.awaits_value, self.key, self.pending = False, None, None

    def _open(self, row: Row, token: re.Match[str]) -> None:
        if token[0] == "[" and self.awaits_value and self.key is not None:
            self.list_at = (row, token.start(), self._full(self.key))
        self.path.append(self.key or "" if self.awaits_value else "")
        self.lists.append(token[0] == "[")
        self.key, self.awaits_value = None, False

    def _close(self, row: Row, token: re.Match[str]) -> None:
        if token[0] == "]" and self.list_at and self.list_at[0] is row:
            start, key = self.list_at[1], self.list_at[2]
            self.settings.append(Setting(key, row.words[start : token.end()], "json", row.span(start, token.end())))
        self.list_at = None
        if self.path:
            self.path.pop()
            self.lists.pop()
            self.closed = not self.path
        self.key, self.awaits_value, self.pending = None, False, None

    def _value(self, row: Row, token: re.Match[str]) -> None:
        text, inner = token[0], int(token.lastgroup == "string")
        value = text[1:-1] if inner else text
        if value and self.key and _KEY.match(self.key) and not value.startswith("<"):
            span = row.span(token.start() + inner, token.end() - inner)
            self.settings.append(Setting(self._full(self.key), value, "json", span))
        self.key, self.awaits_value = None, False

    def _full(self, key: str) -> str:
        return ".".join([part for part in self.path if part] + [key])
