"""JSON and Python dictionaries, whole, cut off, or as fragments; nested keys as full paths."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnose.ingest.lines import Row
from diagnose.ingest.python import Names, expression, is_expression
from diagnose.ingest.values import plain
from diagnose.types import Line, Setting, Span

# A line that can stand inside a dictionary: closing brackets, a quoted key with what follows, or an item of a list.
_INSIDE = re.compile(
    r"""\s*[\]\[{}(),\s]*(?:["'][\w./:@*+-]{1,120}["']\s*:\s*\S.*|["'][^"']{0,300}["']\s*,?|[\w.+-]{1,40},?)?[\]}),\s]*$""",
    re.A,
)
_OPENING = re.compile(r"""\{\s*(?:["'][\w./:@*+-]{1,120}["']\s*:|$)""", re.A)
_NAMED = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,80})=$", re.A)  # a dictionary behind the name of an argument
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.){0,2000}+"|'(?:[^'\\]|\\.){0,2000}+')|(?P<mark>[{}\[\]:,])|(?P<scalar>[^\s{}\[\]:,"']++)""",
    re.A,
)
# how a model is published to generate, printed as it is loaded: no setting of the run
# (huggingface/transformers src/transformers/generation/configuration_utils.py)
_PUBLISHED = re.compile(r"\bGenerationConfig[ ]?\{$", re.A)
_REMARK = re.compile(r"\s*(?:#|//)")  # a line of Python, or of JSON with comments, that says nothing to a program
_YAML = re.compile(r"[ \t]*[A-Za-z_][\w.-]{0,120}:(?:[ \t]|$)", re.A)
_MAPPED = re.compile(r"[ \t]*[A-Za-z_][\w.-]{0,120}:[ \t]+\{[^{}\n]{1,300}\}[ \t]*(?:#.*)?$", re.A)  # key: {"a": 1}
_MOST_ITEMS = 64  # of a list over several rows that is still a setting
_KEY = re.compile(r"[A-Za-z_0-9][\w./@*+-]{0,120}$", re.A)


def read_braces(rows: Sequence[Row], names: Names) -> tuple[list[Setting], list[Row]]:
    """The settings in dictionaries, and the rows that other shapes may still read, with what was read here blanked out."""
    runs: list[_Run] = []
    open_runs: dict[str, _Run] = {}
    rest: list[Row] = []
    for row in rows:
        run = open_runs.get(row.source)
        if run and not run.goes_on(row):
            del open_runs[row.source]
            run = None
        if run is None:
            if not _opens(row.words) or _amid_yaml(row, rest):
                rest.append(row)
                continue
            run = open_runs[row.source] = _Run(names)
            runs.append(run)
        run.read(row)
        if run.closed:
            del open_runs[row.source]
    kept = [run for run in runs if not run.published]
    settings = [setting for run in kept for setting in run.settings]
    rest += [row for run in kept for row in (run.left if run.settings else run.rows)]
    return settings, sorted(rest, key=lambda row: row.line.number)


def read_flow(row: Row, path: str, start: int, end: int) -> list[Setting]:
    """The settings of ``{a: 1, b: [2]}`` in a part of a row, behind the key that it belongs to."""
    settings: list[Setting] = []
    reader = _Reader(settings, Names())
    reader.key, reader.awaits_value = path, True
    for token in _TOKEN.finditer(row.words, start, end):
        reader.take(row, token)
    return [Setting(one.key, one.value, "yaml", one.span) for one in settings]


class _Run:
    """Lines that follow each other in one process's output and belong to one dictionary, or to several in one line."""

    def __init__(self, names: Names) -> None:
        self.rows: list[Row] = []
        self.left: list[Row] = []
        self.settings: list[Setting] = []
        self.reader = _Reader(self.settings, names)
        self.closed = False

    @property
    def published(self) -> bool:
        """Whether the dictionary is what a model came with, and not what its run is set to."""
        return bool(_PUBLISHED.search(self.rows[0].words.rstrip()))

    def goes_on(self, row: Row) -> bool:
        follows = row.source or row.line.number == self.rows[-1].line.number + 1
        return bool(follows and row.words.strip() and (_INSIDE.match(row.words) or _REMARK.match(row.words)))

    def read(self, row: Row) -> None:
        start = 0 if self.rows else self._begin(row.words, 0)
        self.rows.append(row)
        if _REMARK.match(row.words):
            self.left.append(row)
            return
        words = row.words
        while start >= 0:
            end = self._tokens(row, start)
            words = words[:start] + " " * (end - start) + words[end:]
            self.closed = self.reader.closed
            start = self._begin(row.words, end) if self.closed else -1
        self.reader.end_of_row()
        if "=" in words:  # other pairs stand around the dictionary
            line = row.line
            self.left.append(Row(Line(line.number, line.text, words, line.offset), row.source, row.columns))

    def _tokens(self, row: Row, start: int) -> int:
        for token in _TOKEN.finditer(row.words, start):
            if token.lastgroup == "scalar" and _REMARK.match(token[0]):
                return token.start()
            self.reader.take(row, token)
            if self.reader.closed:
                return token.end()
        return len(row.words)

    def _begin(self, words: str, at: int) -> int:
        """Where the next dictionary of a line begins, -1 for none; a name that it is given in a list of pairs is its first key."""
        if at == 0 and words.lstrip()[:1] in ("'", '"'):
            self.reader.in_fragment = True
            return 0
        found = _OPENING.search(words, at)
        if found is None:
            return 0 if at == 0 else -1
        self.reader = _Reader(self.settings, self.reader.names)
        named = _NAMED.search(words, at, found.start())
        if named and (named.start() > 0 or words.rstrip()[-1] == ","):
            self.reader.key, self.reader.awaits_value = named[1], True
        return found.start()


def _opens(words: str) -> bool:
    if '"--' in words or "'--" in words:
        return False  # a list of flags, which is read as such
    if ("{" in words and _OPENING.search(words)) or words.strip() == "{":
        return True
    stripped = words.lstrip()
    return stripped[:1] in "\"'" and ":" in stripped and bool(_INSIDE.match(words))


def _amid_yaml(row: Row, rest: Sequence[Row]) -> bool:
    """Whether a quoted key stands right behind a line of YAML, as ``'n': 5`` does where a plain ``n`` could mean no, or a map in a row."""
    stripped = row.words.strip()
    if not rest or not (_MAPPED.match(row.words) or (stripped[:1] in "\"'" and stripped[-1] not in ",{[}]")):
        return False
    return row.line.number == rest[-1].line.number + 1 and bool(_YAML.match(rest[-1].words))


class _Reader:
    """A pushdown reader that never fails: what does not fit is passed over."""

    def __init__(self, settings: list[Setting], names: Names) -> None:
        self.settings, self.names = settings, names
        self.path: list[str] = []  # one key for each open bracket; "" for a list or the outermost
        self.lists: list[bool] = []
        self.key: str | None = None
        self.pending: tuple[Row, re.Match[str]] | None = None  # a string that may turn out to be a key
        self.awaits_value = False
        self.closed = self.in_fragment = False
        self.list_at: tuple[Row, int, str] | None = None  # a list of scalars that is a value, while it is open
        self.items: list[tuple[Span, str]] = []  # of that list

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
            if self.list_at and len(self.items) <= _MOST_ITEMS:
                self.items.append((row.span(token.start(), token.end()), text.strip("\"'")))

    def end_of_row(self) -> None:
        self.pending = None

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
            self.list_at, self.items = (row, token.start(), self._full(self.key)), []
        self.path.append(self.key or "" if self.awaits_value else "")
        self.lists.append(token[0] == "[")
        self.key, self.awaits_value = None, False

    def _close(self, row: Row, token: re.Match[str]) -> None:
        if token[0] == "]" and self.list_at:
            self._end_of_list(row, token.end())
        self.list_at = None
        if self.path:
            self.path.pop()
            self.lists.pop()
            self.closed = not self.path and not self.in_fragment
        self.key, self.awaits_value, self.pending = None, False, None

    def _end_of_list(self, row: Row, end: int) -> None:
        """The list as it stands in one row; over several as it would, and its place is that of its first item."""
        opened, start, key = self.list_at or (row, end, "")
        if opened is row:
            self.settings.append(Setting(key, row.words[start:end], "json", row.span(start, end)))
        elif 0 < len(self.items) <= _MOST_ITEMS:
            value = f"[{', '.join(text for _, text in self.items)}]"
            self.settings.append(Setting(key, value, "json", self.items[0][0]))

    def _value(self, row: Row, token: re.Match[str]) -> None:
        text, inner = token[0], int(token.lastgroup == "string")
        value = plain(text[1:-1] if inner else text)
        span = row.span(token.start() + inner, token.end() - inner)
        named = self.names.sets or self.names.options
        whole = expression([row], 0, token.start()) if named and not inner else None
        if whole and (len(whole.text) > len(text) or self.names.told(text)):
            told = self.names.read(whole.text, row)
            if told is not None:
                value, span = told, row.span(token.start(), whole.end)
            elif is_expression(whole.text):
                value = ""
        if value and self.key and _KEY.match(self.key) and not value.startswith("<"):
            self.settings.append(Setting(self._full(self.key), value, "json", span))
        self.key, self.awaits_value = None, False

    def _full(self, key: str) -> str:
        return ".".join([part for part in self.path if part] + [key])
