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
    r"\s*(?P<word>(?:if|elif|then|else|while|until|for|select|do|case|\{)(?=[\s;)&|]|$)|(?:fi|done|esac|\})(?=\s*(?:[;)&|<>#]|\d>|$)))",
    re.A,
)
_SUBJECT = re.compile(r"\s*case\s+(?P<subject>\"[^\"\n]{0,400}\"|\$\([^()\n]{0,400}\)|\S{1,400})\s+in(?=\s|$)", re.A)
_PATTERN = re.compile(r"\s*\(?(?P<pattern>[^()#;\n]{1,200}?)\)(?=\s|$|[A-Za-z\"'$:;])", re.A)
_FUNCTION = re.compile(
    r"\s*(?:function[ \t]+)?[A-Za-z_][\w:.-]{0,80}[ \t]*\(\)[ \t]*(?:\{|$)|\s*function[ \t]+[\w:.-]{1,80}[ \t]*(?:\{|$)",
    re.A,
)
_OPENS = {"if": "if", "while": "loop", "until": "loop", "for": "loop", "select": "loop", "case": "case", "{": "braces"}
_CLOSES = {"fi": "if", "done": "loop", "esac": "case", "}": "braces"}
_LEADS_ON = ("&&", "||", "|", ";&", ";;&")  # signs behind which the next row goes on
_DEEPEST = 60  # branches in branches; no script has as many
_FARTHEST = 300  # rows over which a quoted text, an array or a document may go
_CLOSING = {'"': re.compile(r"(?:[^\"\\]|\\.)*+\"", re.A), "'": re.compile(r"[^']*+'", re.A)}
_DOCUMENT = re.compile(r"(?<!<)<<-?[ \t]*[\"'\\]?(?P<word>[A-Za-z_]\w{0,40})", re.A)
_OF_A_SHELL = re.compile(r"\b(?:ba|z)?sh\b|\bs(?:batch|run|lurm)\b", re.A)  # what a document is written for


@dataclass(slots=True)
class Statement:
    """A command (``run``), what a further row holds of it (``more``), a comment (``note``), or what opens, parts or closes a branch.

    ``gap`` stands where lines were left out.

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
        self._rows = rows
        self._open: list[tuple[str, int]] = []
        self._groups = 0
        self._arm = False  # whether the pattern of a case's arm comes next
        self._above = ""  # what of it stands in the rows above
        self._sign = ""  # what leads to the next command
        self._body = False  # whether the brace of a function comes next
        self._goes_on = False  # whether the row is of the command above
        self._closed = (-1, 0)  # the row and column where a text, an array or a document ends that a row above began
        self._without: dict[str, int] = {}  # up to which row one that closes an array or a document was sought in vain
        before = rows[0].line.number - 1 if rows else 0
        for at, row in enumerate(rows):
            if row.line.number != before + 1:
                self._open, self._sign, self._goes_on, self._closed = [], "", False, (-1, 0)
                self.found.append(Statement("gap", at, 0, 0))
            before = row.line.number
            if at < self._closed[0]:
                self.found.append(Statement("more", at, 0, len(row.words)))
            else:
                self._row(at, row.words)

    def _row(self, at: int, words: str) -> None:
        held = -1  # where a pattern begins that goes on behind its ``|``
        first = self._closed[1] if at == self._closed[0] else 0
        text = words[:first]
        if first:
            self.found.append(Statement("more", at, 0, first))
        for start, end, mark, comment in self._parts(at, words, first):
            if held >= 0:
                start, held = held, -1
            if self._arm and mark == "|" and ")" not in words[start:end]:
                held = start
            elif comment:
                self.found.append(Statement("note", at, start, end, words[start:end]))
            else:
                text = self._command(at, words, start, end, mark)
        goes_on = self._goes_on if words.lstrip()[:1] == "#" else bool(text) and words.rstrip()[-1:] == "\\"
        self._goes_on = goes_on or at < self._closed[0]
        if not self._goes_on and self._sign not in _LEADS_ON:
            self._sign = ""

    def _command(self, at: int, words: str, start: int, end: int, mark: str) -> str:
        """Takes a command in, with the words before it; gives what of it may go on in the next row."""
        kind, self._goes_on = "more" if self._goes_on else "run", False
        start = start if kind == "more" else self._keywords(at, words, start, end)
        text = words[start:end].strip(" \t\\")
        if self._arm and text[-1:] == "|":
            self._above += text
            return ""
        if text:
            self.found.append(Statement(kind, at, start, end, text, self._sign))
            self._body = False
        of_a_table = mark == "|" and kind == "run" and not words[:end].strip()
        if (text or mark) and not of_a_table:
            self._sign = mark
        if mark[:2] in (";;", ";&"):
            self._arm = bool(self._open) and self._open[-1][0] == "case"
        return "" if mark else text

    def _parts(self, at: int, words: str, start: int) -> Iterator[tuple[int, int, str, bool]]:
        """Where each command of a row stands, the sign behind it, and whether it is a comment."""
        for piece in _PIECE.finditer(words, start):
            if piece["comment"]:
                if words[start : piece.start()].strip():
                    yield start, piece.start(), "", False
                yield piece.start(), piece.end(), "", True
                return
            if piece["sign"]:
                yield start, piece.start(), piece["sign"], False
                start = piece.end()
            elif piece[0] in _CLOSING or piece[0] == "(":
                before = words[piece.start() - 1 : piece.start()]
                if self._goes_over(at, piece, before):
                    break
        if words[start:].strip():
            yield start, len(words), "", False
        if "<<" in words and self._closed[0] <= at and not _OF_A_SHELL.search(words):
            self._seek_document(at, words)

    def _goes_over(self, at: int, piece: re.Match[str], before: str) -> bool:
        """Whether a quoted text or an array that begins here ends in a row further down."""
        if piece[0] == "(":
            return before == "=" and self._seek_bracket(at, piece.end())
        if before and before not in " \t=(:{$,[":
            return False  # “don't”
        for below in range(at + 1, min(at + _FARTHEST, len(self._rows))):
            words = self._rows[below].words
            if found := _CLOSING[piece[0]].match(words):
                if words.count(piece[0], found.end()) % 2 == 0:
                    self._closed = (below, found.end())
                return self._closed[0] > at
        return False

    def _seek_bracket(self, at: int, start: int) -> bool:
        for below in range(max(at, self._without.get("(", 0)), min(at + _FARTHEST, len(self._rows))):
            for piece in _PIECE.finditer(self._rows[below].words, start if below == at else 0):
                if piece["comment"]:
                    break
                if ")" in piece[0] and piece[0][0] not in "\"'$`":
                    self._closed = (below, piece.start() + piece[0].index(")") + 1)
                    return below > at
            self._without["("] = below
        return False

    def _seek_document(self, at: int, words: str) -> None:
        found = _DOCUMENT.search(words)
        word = found["word"] if found else ""
        for below in range(
            max(at + 1, self._without.get(word, 0)), min(at + _FARTHEST, len(self._rows)) if word else 0
        ):
            if self._rows[below].words.strip() == word:
                self._closed = (below, len(self._rows[below].words))
                return
            self._without[word] = below

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
                self._add("arm", at, found, self._above + found["pattern"])
                self._above = ""
            elif word == "case":
                found = _SUBJECT.match(words, start, end)
                if found is None:
                    return start
                self._opens("case", at, found, found["subject"])
                self._arm = True
            elif function := _FUNCTION.match(words, start, end) if "(" in words or "function" in words else None:
                self._opens("braces", at, function, "function")
                self._body = function[0].rstrip()[-1:] != "{"
                start = function.end()
                continue
            elif found is None or not self._word(word, at, found):
                return start
            start = found.end()

    def _word(self, word: str, at: int, found: re.Match[str]) -> bool:
        body, self._body = self._body, False
        if word in _OPENS and not (body and word == "{"):
            self._opens(_OPENS[word], at, found, word)
        elif kind := _CLOSES.get(word, "if" if word in ("elif", "then", "else") else ""):
            if not self._nearest(kind):
                return False
            self._add("end" if word in _CLOSES else word, at, found, "")
            if word in _CLOSES:
                self.closed.add(self._open.pop()[1])
                self._arm = False
        return True

    def _nearest(self, kind: str) -> bool:
        """Whether one of a kind is open; what was opened inside of it and never closed is none."""
        if not any(one == kind for one, _ in self._open):
            return False
        while self._open[-1][0] != kind:
            self._open.pop()
        return True

    def _opens(self, kind: str, at: int, found: re.Match[str], text: str) -> None:
        if len(self._open) == _DEEPEST:
            self._open.clear()  # none of them is read as a branch then
        self._open.append((kind, self._groups))
        self._groups += 1
        self._add(kind, at, found, text)
        self._sign = ""

    def _add(self, kind: str, at: int, found: re.Match[str], text: str) -> None:
        group = self._open[-1][1] if self._open else -1
        self.found.append(Statement(kind, at, found.start(), found.end(), text, self._sign, group))


def has_branches(rows: Sequence[Row]) -> bool:
    """Whether any line looks like one of a shell's branches."""
    return any(_BRANCHES.match(row.words) for row in rows)
