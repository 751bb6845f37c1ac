"""A shell script's rows as single commands and the words that make branches and loops of them, each with its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diagnose.ingest.lines import Row

# what a script that has branches begins a line with, or leads a test to
_BRANCHES = re.compile(r"\s*(?:if[ \t]+\S|case[ \t]+\S|\[{1,2}[ \t]|\(\(|test[ \t])", re.A)
_PIECE = re.compile(
    r"\"(?:[^\"\\]|\\.){0,4000}+\"|'[^']{0,4000}+'|\$\((?:[^()]|\((?:[^()]|\([^()]{0,200}\)){0,200}+\)){0,600}+\)|`[^`]{0,400}`"
    r"|\$\{(?:[^{}]|\{[^{}]{0,200}\}){0,400}+\}|\$#|(?<!\S)\[\[\s[^\n]{1,400}?\s\]\](?=[\s;)&|]|$)|(?<!\S)\(\([^\n]{1,300}?\)\)(?=[\s;)&|]|$)"
    r"|(?P<comment>(?<!\S)#.*)|(?P<sign>&&|\|\||;;&?|;&|;|\||(?<![<>&])&(?![>&]))|[^\s\"'\\$`#;&|\[(]+|\\.|.",
    re.A | re.S,
)
_KEYWORD = re.compile(
    r"\s*(?P<word>if|elif|then|else|fi|while|until|for|select|do|done|case|esac|[{}])(?=[\s;)&|]|$)", re.A
)
_SUBJECT = re.compile(r"\s*case\s+(?P<subject>\"[^\"\n]{0,400}\"|\S{1,400})\s+in(?=\s|$)", re.A)
_PATTERN = re.compile(r"\s*\(?(?P<pattern>[^()#;\n]{1,200}?)\)(?=\s|$|[A-Za-z\"'$:;])", re.A)
_FUNCTION = re.compile(
    r"\s*(?:function[ \t]+)?[A-Za-z_][\w-]{0,80}[ \t]*\(\)[ \t]*(?:\{|$)|\s*function[ \t]+[\w-]{1,80}[ \t]*(?:\{|$)",
    re.A,
)
_OPENS = {"if": "if", "while": "loop", "until": "loop", "for": "loop", "select": "loop", "case": "case", "{": "braces"}
_CLOSES = {"fi": "if", "done": "loop", "esac": "case", "}": "braces"}
_DEEPEST = 60  # branches in branches; no script has as many


@dataclass(slots=True)
class Statement:
    """A command (``run``), a comment (``note``), or what opens, parts or closes a branch.

    ``sign`` is what leads to it: ``&&``, ``||``, a pipe, or what makes it hang on nothing before it. ``group`` is the number of the branch
    or loop that it opens or belongs to; ``row`` the place of its row.
    """

    kind: str
    row: int
    start: int
    end: int
    text: str = ""
    sign: str = ""
    group: int = -1


class Statements:
    """The statements in their order; ``closed`` are the groups that the text shows from their beginning to their end."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.found: list[Statement] = []
        self.closed: set[int] = set()
        self._open: list[tuple[str, int]] = []
        self._groups = 0
        self._arm = False  # whether the pattern of a case's arm comes next
        self._sign = ""  # what leads to the next command
        before = -1
        for at, row in enumerate(rows):
            if row.line.number != before + 1:  # what stood between was left out
                self._open, self._sign = [], ""
            before = row.line.number
            self._row(at, row.words)

    def _row(self, at: int, words: str) -> None:
        held = -1  # where a pattern begins that goes on behind its ``|``
        for start, end, mark, comment in _parts(words):
            if held >= 0:
                start, held = held, -1
            if self._arm and mark == "|" and ")" not in words[start:end]:
                held = start
                continue
            if comment:
                self.found.append(Statement("note", at, start, end, words[start:end]))
                continue
            start = self._keywords(at, words, start, end)
            text = words[start:end].strip(" \t\\")
            if text:
                self.found.append(Statement("run", at, start, end, text, self._sign))
            if text or mark:
                self._sign = mark
            if mark[:2] in (";;", ";&"):
                self._arm = bool(self._open) and self._open[-1][0] == "case"
        if self._sign not in ("&&", "||", "|"):
            self._sign = ""

    def _keywords(self, at: int, words: str, start: int, end: int) -> int:
        """Takes the words in that open or close something in front of a command; gives the column behind them."""
        while True:
            found = _KEYWORD.match(words, start, end)
            word = found["word"] if found else ""
            if self._arm and word != "esac":
                found = _PATTERN.match(words, start, end)
                if found is None:
                    return start
                self._arm = False
                self._add("arm", at, found, found["pattern"])
            elif word == "case":
                found = _SUBJECT.match(words, start, end)
                if found is None:
                    return start
                self._opens("case", at, found, found["subject"])
                self._arm = True
            elif function := _FUNCTION.match(words, start, end) if "(" in words or "function" in words else None:
                self._opens("braces", at, function, "function")
                start = function.end()
                continue
            elif found is None or not self._word(word, at, found):
                return start
            start = found.end()

    def _word(self, word: str, at: int, found: re.Match[str]) -> bool:
        if word in _OPENS:
            self._opens(_OPENS[word], at, found, word)
        elif word in _CLOSES:
            return self._closes(_CLOSES[word], at, found)
        elif word in ("elif", "then", "else"):
            self._add(word, at, found, "")
        return True

    def _opens(self, kind: str, at: int, found: re.Match[str], text: str) -> None:
        if len(self._open) < _DEEPEST:
            self._open.append((kind, self._groups))
            self._groups += 1
            self._add(kind, at, found, text)
            self._sign = ""

    def _add(self, kind: str, at: int, found: re.Match[str], text: str) -> None:
        group = self._open[-1][1] if self._open else -1
        self.found.append(Statement(kind, at, found.start(), found.end(), text, self._sign, group))

    def _closes(self, kind: str, at: int, found: re.Match[str]) -> bool:
        """Closes the nearest that is open of a kind; what was opened inside of it and never closed is none."""
        if not any(one == kind for one, _ in self._open):
            return False
        while self._open[-1][0] != kind:
            self._open.pop()
        self._add("end", at, found, "")
        self.closed.add(self._open.pop()[1])
        self._arm = False
        return True


def has_branches(rows: Sequence[Row]) -> bool:
    """Whether any line looks like one of a shell's branches."""
    return any(_BRANCHES.match(row.words) for row in rows)


def _parts(words: str) -> Iterator[tuple[int, int, str, bool]]:
    """Where each command of a row stands, the sign behind it, and whether it is a comment."""
    start = 0
    for piece in _PIECE.finditer(words):
        if piece["comment"]:
            if words[start : piece.start()].strip():
                yield start, piece.start(), "", False
            yield piece.start(), piece.end(), "", True
            return
        if piece["sign"]:
            yield start, piece.start(), piece["sign"], False
            start = piece.end()
    if words[start:].strip():
        yield start, len(words), "", False
