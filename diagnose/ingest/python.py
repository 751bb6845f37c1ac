"""Values in Python source: expressions over several lines, names that stand above, arithmetic; what is not certain stays unknown.

A paste is rarely a whole program, so nothing is parsed but one expression at a time: from behind its ``=`` to the comma, the bracket
or the end of the line that ends it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from diagnose.ingest.evaluate import FAULTS, Evaluation
from diagnose.ingest.lines import Row

_MOST_LINES = 60  # of one expression
_LONGEST = 2_000  # characters of one expression, and of a text that one gives
_PIECE = re.compile(
    r"(?P<string>[rbfuRBFU]{0,2}(?:\"(?:[^\"\\\n]|\\.){0,1000}+\"|'(?:[^'\\\n]|\\.){0,1000}+'))|(?P<open>[\[({])|(?P<close>[\])}])"
    r"|(?P<comma>,)|(?P<comment>(?<![^\s,])#)|(?P<quote>[\"'])|[^\"'\[\](){},#rbfuRBFU]++|.",
    re.A,
)
_ASSIGNS = re.compile(
    r"[ \t]*(?P<name>[A-Za-z_]\w{0,80})(?:[ ]?:[ ]?[\w\[\], |.\"']{1,80})?[ \t]*=(?![=>~])[ \t]*", re.A
)
_CHANGES = re.compile(r"[ \t]*(?P<name>[A-Za-z_]\w{0,80})[ \t]*(?:\*\*|//|[-+*/%|&])=", re.A)
_BINDS = re.compile(
    r"[ \t]*(?:for[ ](?P<loop>[\w, ()]{1,80})[ ]in\b|def[ ]\w{1,80}\((?P<parameters>[^\n]{0,400})"
    r"|(?:with|import|from)\b[^\n]{0,300}\bas[ ](?P<named>\w{1,80}))",
    re.A,
)
_NAME = re.compile(r"[A-Za-z_]\w*", re.A)
# what holds the arguments that a script was called with, by its last letters
HOLDERS = ("args.", "opt.", "opts.", "flags.", "FLAGS.")
_HOLDER = re.compile(r"(?:\w{0,40}args|opts?|flags|FLAGS)\.(?P<name>[A-Za-z_]\w*)", re.A)
_METHOD = re.compile(r"(?<=\w)\.gradient_checkpointing_(?P<turn>enable|disable)(?=\()", re.A)
# what a file does when it is started itself is done
_BRANCH = re.compile(r"[ \t]*(?:if(?![ \t(]+__name__\b)|elif|else)\b", re.A)
_SIMPLE = re.compile(r"[^\s,()\[\]{}+*/%\"'#-]+|-?[\d._]+(?:e-?\d+)?|\"[^\"\\]*\"|'[^'\\]*'", re.A)


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression as written, with blanks for line ends, and how far it goes: rows from its first on, columns of the last."""

    text: str
    rows: int
    end: int


@dataclass(frozen=True, slots=True)
class _Set:
    """A name that is set: on which line, how far indented, and to what; ``known`` is false where the text does not tell."""

    line: int
    indent: int
    value: object = None
    known: bool = False


@dataclass(frozen=True, slots=True)
class Names:
    """What the text's Python sets, in its order; ``indents`` are those of the statements that the lines belong to. ``options`` are the
    arguments that the script was called with."""

    sets: dict[str, list[_Set]] = field(default_factory=dict)
    indents: Mapping[int, int] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)

    def value(self, name: str, line: int) -> object:
        """What the name stands for on a line. One set deeper in, as in a branch or a function, may not have been set at all."""
        if found := _HOLDER.fullmatch(name):
            return self.options[found["name"]]
        places = [one for one in self.sets.get(name, ()) if one.line < line]
        indent = self.indents.get(line, 0)
        last = next((i for i in reversed(range(len(places))) if places[i].indent <= indent), 0)
        values = places[last:]
        if not values or not all(one.known and one.value == values[0].value for one in values):
            raise LookupError(name)
        return values[0].value

    def told(self, word: str) -> bool:
        """Whether a word may be a name that the text sets, or one of the arguments of its script."""
        found = _HOLDER.fullmatch(word)
        return word in self.sets or (found is not None and found["name"] in self.options)

    def read(self, text: str, row: Row) -> str | None:
        """What an expression that stands on a row gives, as it would be written there; None where that is not certain."""
        if len(text) > _LONGEST:
            return None
        try:
            value = Evaluation(self.value, row.line.number).of(ast.parse(text.strip(), mode="eval").body)
        except FAULTS:
            return None
        written = value if isinstance(value, str) else repr(value)
        return written if len(written) <= _LONGEST else None


def is_expression(text: str) -> bool:
    """Whether the text is one of Python's expressions, and none of a sentence's words, as of ``8 (default)`` or ``8 [default]``."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    called = tree.func if isinstance(tree, ast.Call) else tree.value if isinstance(tree, ast.Subscript) else None
    return not isinstance(called, ast.Constant)


def read_names(rows: Sequence[Row], options: Mapping[str, object]) -> Names:
    """Every name that a line sets to something; the value is told by those above it, or by what the script was called with."""
    names = Names(indents=dict(_indents(rows)), options=options)
    for at, row in enumerate(rows):
        words = row.words
        if "=" in words:
            _assign(names, rows, at)
        if found := _BINDS.match(words):
            bound = found["loop"] or found["parameters"] or found["named"] or ""
            for name in _NAME.findall(bound):
                names.sets.setdefault(name, []).append(_Set(row.line.number, names.indents[row.line.number] + 1))
    return names


def _assign(names: Names, rows: Sequence[Row], at: int) -> None:
    row = rows[at]
    value = _Set(row.line.number, names.indents.get(row.line.number, 0))
    if found := _CHANGES.match(row.words):
        names.sets.setdefault(found["name"], []).append(value)
        return
    found = _ASSIGNS.match(row.words)
    whole = expression(rows, at, found.end()) if found else None
    if found is None or whole is None or rows[at + whole.rows - 1].words[whole.end :].lstrip()[:1] in (",", ")"):
        return  # an argument of a call
    if len(whole.text) <= _LONGEST:
        try:
            tree = ast.parse(whole.text, mode="eval").body
            value = _Set(value.line, value.indent, Evaluation(names.value, value.line).of(tree), known=True)
        except SyntaxError:
            return  # a sentence
        except FAULTS:
            pass
    names.sets.setdefault(found["name"], []).append(value)


def expression(rows: Sequence[Row], at: int, start: int) -> Expression | None:
    """The expression that begins in a row at a column; None where a bracket stays open as far as the text goes on."""
    depth, parts = 0, []
    for place in range(at, min(at + _MOST_LINES, len(rows))):
        words = rows[place].words
        if place > at and rows[place].line.number != rows[place - 1].line.number + 1:
            return None
        end = len(words)
        for piece in _PIECE.finditer(words, start):
            kind = piece.lastgroup
            depth += (kind == "open") - (kind == "close")
            if kind == "comment" or depth < 0 or (kind == "comma" and depth == 0):
                end = piece.start()
                break
            if kind == "quote":  # open to the end of the line
                return None
        parts.append(words[start:end].strip())
        if depth <= 0:
            text = " ".join(parts)
            return Expression(text, place - at + 1, start + len(words[start:end].rstrip())) if text else None
        start = 0
    return None


def _indents(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """The number of each line and how far its statement is indented, of which it may be but an argument."""
    above: list[tuple[int, int, bool]] = []  # columns, those of the statement, and whether it goes on
    for row in rows:
        words = row.words.partition("#")[0].rstrip()
        if not words:
            continue
        own = len(words) - len(words.lstrip())
        while above and above[-1][0] >= own:
            above.pop()
        indent = above[-1][1] if above and above[-1][2] else own
        above.append((own, indent, words[-1] in "([{,"))
        yield row.line.number, indent


@dataclass(frozen=True, slots=True)
class Place:
    """A row among those that follow it, and what the text's Python sets."""

    rows: Sequence[Row]
    at: int
    names: Names

    @property
    def row(self) -> Row:
        return self.rows[self.at]

    def expression(self, found: re.Match[str]) -> Expression | None:
        """The expression behind a key, where it may be more than the plain word (``value``) that stands there."""
        value, words = found["value"], self.row.words
        after = words[found.end() :].lstrip()[:1]
        if "$" in value or (_SIMPLE.fullmatch(value) and after in ("", ",", ")", "#") and not self.names.told(value)):
            return None
        whole = expression(self.rows, self.at, found.start("value"))
        if whole is None or "$" in whole.text or len(whole.text) < len(value):
            return None
        over_lines = whole.rows > 1 and (whole.text[0] not in "[(" or "=" in whole.text)
        return None if over_lines or (whole.text == value and value[0] == "[") else whole

    def told(self, found: re.Match[str], whole: Expression) -> tuple[str, bool]:
        """What the expression gives, and whether nothing more is to be read from it: no part of one that is left open is its value."""
        value = self.names.read(whole.text, self.row)
        if value is not None and value[:1] != "{":
            return value, True
        if whole.text[0] == "[" and whole.rows > 1:
            return whole.text, True
        called = found["value"][0].isalpha() and self.row.words[found.end() : found.end() + 1] == "("
        return "", len(whole.text) > len(found["value"]) and not called and is_expression(whole.text)


def switched(place: Place) -> Iterable[tuple[str, str, str, int, int]]:
    """A method of transformers’ models that sets what is an argument elsewhere; in a branch nobody knows whether it is gone through."""
    for found in _METHOD.finditer(place.row.words):
        if not in_branch(place):
            yield "gradient_checkpointing", str(found["turn"] == "enable").lower(), "python", found.end(), found.end()


def in_branch(place: Place) -> bool:
    """Whether a row stands below an ``if`` or ``else`` of its text, at whatever depth."""
    words = place.row.words
    indent = len(words) - len(words.lstrip())
    for row in (place.row, *reversed(place.rows[max(0, place.at - _MOST_LINES) : place.at])):
        own = len(row.words) - len(row.words.lstrip())
        if row.words.strip() and (own < indent or row is place.row):
            if _BRANCH.match(row.words):
                return True
            indent = own
    return False
