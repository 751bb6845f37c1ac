"""Flags and overrides of one command's tokens: ``--key value``, ``--key=value``, ``a.b=c``, ``+a.b=c``, ``~a.b``, ``ENV=value``."""

from __future__ import annotations

import re

from diagnose.ingest.helped import helped
from diagnose.ingest.inner import inner
from diagnose.ingest.shell import Token, Variables, unquote
from diagnose.types import Setting

_FLAG = re.compile(r"--?(?=[A-Za-z])([A-Za-z][\w.:/-]*)(=)?", re.A)
_OVERRIDE = re.compile(r"([+~]{0,2})([A-Za-z_][\w-]*(?:[./@][\w-]+)*)=(?!=)", re.A)
_DELETED = re.compile(r"~([A-Za-z_]\w*(?:\.\w+)+)$", re.A)
ENDS = frozenset({"&&", ";", "||"})  # behind them another command begins
_ENVIRONMENT = frozenset({"-e", "--env", "-x"})
_SEPARATOR = re.compile(r"(?:&&|\|\||[|&;]|\d?>{1,2}\S{0,200}|<|2>&1|&>\S{0,200})$", re.A)
_NEGATIVE = re.compile(r"-\d", re.A)
_IN_WORDS = frozenset({"-m", "-u", "-c", "-E", "-O", "-W"})
_LIST_ITEM = re.compile(r"[‹›\w./:@#%+{}$\[\]\"',*<>|=-]+$", re.A)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=(?!=)\S", re.A)
_GIVEN = re.compile(r"[\"']?[A-Z][A-Z0-9_]*=(?!=)\S", re.A)  # a variable, which a container or MPI is started with
_REMARK = re.compile(r"[(（][A-Za-z\u4e00-\u9fff][^\s()（）=]*$", re.A)  # opens a bracket that another word closes
HOLDER = re.compile(r"[A-Za-z_]\w*=[\"'(](?=--[A-Za-z])", re.A)
LAUNCHER = re.compile(
    r"(?:\S{0,200}/)?(?:python\d?(?:\.\d+)?|torchrun|accelerate|deepspeed|mpirun|mpiexec|srun|horovodrun)$", re.A
)
_NUMERIC = re.compile(r"-?\d[\w.+-]*$", re.A)
_VARIABLE = re.compile(r"\"?\$\{?[A-Za-z_]\w*\}?\"?$", re.A)
_ARROW = re.compile(r"-{1,2}>|=>|→|⇒", re.A)
_QUOTED_ITEM = re.compile(r"(?P<quote>[\"'])[\w./-]{1,100}(?P=quote),?", re.A)
_TRAILING = ",;，。；、）)"


def is_argument(word: str) -> bool:
    """Whether a shell word is a flag or an override with a dotted key."""
    if word[:1] == "-":
        return bool(_FLAG.match(word)) and (word[:2] == "--" or len(word) <= 4)
    found = _OVERRIDE.match(word.strip("'\""))
    return bool(found and (found[1] or "." in found[2])) or bool(_DELETED.match(word))


def is_override(word: str) -> bool:
    """Whether a word behind a command gives a key a value: ``batch_size=2``, ``+a.b=c``."""
    found = _OVERRIDE.match(word)
    return bool(found and found.end() < len(word))


def is_assignment(words: list[str]) -> bool:
    """Whether a line is nothing but shell assignments: ``export A=1 B=2``."""
    plain = words[words[:1] == ["export"] :]
    return bool(plain) and all(_ASSIGNMENT.match(word) and word[-1] not in ",)([{" for word in plain)


def _end(value: str) -> int:
    """The length of a value without the punctuation of a sentence or the lone quote of what it stands in."""
    if value[0] in "[({'\"$":
        return len(value)
    kept = value[:-1] if value[-1] in "\"'" and value.count(value[-1]) == 1 else value
    return max(len(kept.rstrip(_TRAILING)), 1)


def opened(token: Token) -> Token:
    """Without the name of the variable or the array that holds a list of flags: ``ARGS="--a 1``, ``ARGS=(--a 1``."""
    found = HOLDER.match(token.text)
    if found is None or token.text.count(token.text[found.end() - 1]) > 1:
        return token
    return Token(token.text[found.end() :], token.row, token.start + found.end(), token.end)


def _is_prose(word: str) -> bool:
    return not word.isascii() and word[0] not in "\"'/.[{$‹-"


def read_arguments(
    chain: list[Token], variables: Variables, command: int
) -> tuple[list[tuple[tuple[str, ...], bool]], list[Setting]]:
    """The words of each command in the chain (with whether ``$@`` leaves it open) and all settings.

    ``command`` is the index of the first command, -1 for a loose list of arguments.
    """
    reader = _Reader(chain, variables, command)
    reader.read()
    return reader.commands, reader.settings


class _Reader:
    def __init__(self, chain: list[Token], variables: Variables, command: int) -> None:
        self.chain, self.variables, self.command = chain, variables, command
        self.settings: list[Setting] = []
        self.commands: list[tuple[tuple[str, ...], bool]] = []
        self.words: list[str] = []
        self.open_end = self.skipping = False

    def read(self) -> None:
        at = 0
        while at < len(self.chain):
            at = self._one(at)
        self._finish()

    def _finish(self) -> None:
        if self.command >= 0 and (self.words or not self.commands):
            self.commands.append((tuple(self.words), self.open_end))
            self.command += 1
        self.words, self.open_end = [], False

    def _one(self, at: int) -> int:
        token = self.chain[at] = opened(self.chain[at])
        text = token.text
        if text in ENDS:
            self._finish()
            self.skipping = False
        elif _SEPARATOR.match(text) or self.skipping:
            self.skipping = True  # a pipe or a redirection: what follows is no argument
        elif text.strip("\"'") == "$@":
            self.open_end = True
        elif text in _IN_WORDS:
            self.words.append(text)
        elif (flag := _FLAG.match(text)) and (text[:2] == "--" or self.words or self.command < 0):
            return self._flag(at, flag)
        else:
            then = self._then(at)
            if then > at and (found := _OVERRIDE.match(text)):
                last = self.chain[then]
                self._add(found[2], last.text[: _end(last.text)], "override", last, (0, _end(last.text)))
            else:
                self._word(token)
            return then + 1
        return at + 1

    def _then(self, at: int) -> int:
        """Where the last number of “x=0.9 → 0.6 → 0.4” stands; the place itself where nothing was changed, or where that helped."""
        first = at
        while (
            _ARROW.fullmatch("".join(one.text for one in self.chain[at + 1 : at + 2])) and self.chain[at + 2 : at + 3]
        ):
            if not _NUMERIC.match(self.chain[at + 2].text):
                break
            at += 2
        return first if at > first and helped(" ".join(one.text for one in self.chain[at + 1 :])) else at

    def _word(self, token: Token) -> None:
        text, left, right = unquote(token.text)
        found = _OVERRIDE.match(text)
        if deleted := _DELETED.match(text):
            self._add(deleted[1], "null", "override", token, (0, len(token.text)), bare=True)
        elif found and text[found.end() : found.end() + 1] in ('"', "'") and text.count(text[found.end()]) == 1:
            self.words.append(text[found.end() + 1 :])  # a command inside a variable: ARGS="module \\
        elif found:
            before_words = not self.words and not found[1] and "." not in found[2] and self.command >= 0
            shape = "env" if before_words or found[2].isupper() or self._is_variable(found[2]) else "override"
            end = len(token.text) - right
            ends = ";，。；、" if text[found.end() : found.end() + 1] in ("[", "{", "(") else ";，。；、,"
            ends += "." if self.command < 0 else ""  # of a sentence that lists settings
            while end > left + found.end() and token.text[end - 1] in ends:
                end -= 1
            if token.text[end - 1] in "\"'" and token.text.count(token.text[end - 1]) == 1:
                end -= 1  # the quotation that ends here holds the whole command
            self._add(found[2], token.text[left + found.end() : end], shape, token, (left + found.end(), end))
        elif text and (text != "export" or self.words):  # of a program's own words it may be one
            opening = text[0] in "\"'" and text.count(text[0]) == 1 and len(text) > 1
            self.words.append(self.variables.resolve(text[opening:], token.row.line.number))

    def _is_variable(self, name: str) -> bool:
        return name in self.variables.used or self.chain[0].text == "export"

    def _flag(self, at: int, flag: re.Match[str]) -> int:
        token = self.chain[at]
        if token.text in _ENVIRONMENT and (given := self.chain[at + 1 : at + 2]) and _GIVEN.match(given[0].text):
            self._variable(given[0])
            return at + 2
        if flag[2] and flag[1] == "env" and _GIVEN.match(token.text[flag.end() :]):
            self._variable(Token(token.text[flag.end() :], token.row, token.start + flag.end(), token.end))
            return at + 1
        if flag[2]:
            self._add_with_inner(flag[1], token, flag.end(), len(token.text))
            return at + 1
        ends = token.text[flag.end() :] in (",", ";", "，", "；", "。")  # of what is said of the command
        values = [] if ends else self._values(at + 1)
        behind = "" if ends or values or at + 1 == len(self.chain) else self.chain[at + 1].text
        if _is_prose(behind) and not _REMARK.match(behind):
            return at + 1  # a sentence about the flag
        if not values:
            self._add(flag[1].rstrip(".:"), "true", "flag", token, (len(token.text), len(token.text)), bare=True)
            return at + 1
        if len(values) == 1:
            value = values[0]
            end = _end(value.text)
            self._add_with_inner(flag[1], value, 0, end)
        else:
            self._add_list(flag[1], values)
        return at + 1 + len(values)

    def _variable(self, token: Token) -> None:
        """One that a container or MPI is started with: ``-e NAME=value``, ``-x NAME=value``."""
        text, left, right = unquote(token.text)
        start = left + text.index("=") + 1
        self._add(
            text.partition("=")[0],
            token.text[start : len(token.text) - right],
            "env",
            token,
            (start, len(token.text) - right),
        )

    def _values(self, at: int) -> list[Token]:
        """The tokens that are a flag's value; none for a bare flag."""
        values: list[Token] = []
        while at < len(self.chain):
            text = self.chain[at].text
            if (
                text.strip("\"'") == "$@"
                or text.strip("\"'").endswith(("[@]}", "[*]}"))
                or text[:1] == "-"
                and not _NEGATIVE.match(text)
                or _SEPARATOR.match(text)
                or self._is_override(text)
            ):
                break
            if self._is_script(text, bool(values)) or _is_prose(text) or _REMARK.match(text):
                break
            if values and (not _LIST_ITEM.match(text) or _VARIABLE.match(text) or LAUNCHER.match(text)):
                break
            if values and _ASSIGNMENT.match(text) and not _ASSIGNMENT.match(values[-1].text):
                break  # a list holds settings or words; a setting behind a word is the command's own
            if values and _NUMERIC.match(values[-1].text) and not _NUMERIC.match(text.strip("\"'")):
                break  # a list holds numbers or words; a word behind a number is the program
            values.append(self.chain[at])
            if text[-1] in ",;，。；）" and text[0] not in "[({" and not self._lists(at):
                break
            at += 1
        return values

    def _lists(self, at: int) -> bool:
        """Whether a comma behind a quoted word parts it from the next one, as in ``--names "a", "b"``, and ends no clause."""
        pair = [one.text for one in self.chain[at : at + 2]]
        return len(pair) == 2 and all(_QUOTED_ITEM.fullmatch(word) for word in pair)

    def _is_override(self, text: str) -> bool:
        found = _OVERRIDE.match(text.strip("'\""))
        return bool(found and (found[1] or "." in found[2]) and "/" not in found[2]) or bool(_DELETED.match(text))

    def _is_script(self, text: str, later: bool) -> bool:
        """Whether the token is the program to run: a ``.py`` behind a value, or the first of a launcher that has none yet."""
        if not text.endswith((".py", ".sh")) or self.command < 0:
            return False
        has_one = "-m" in self.words or any(word.endswith((".py", ".sh")) for word in self.words)
        return later or (not has_one and self._is_launcher())

    def _is_launcher(self) -> bool:
        return any(
            word.rsplit("/", 1)[-1].startswith(("python", "torchrun", "deepspeed", "launch")) for word in self.words
        )

    def _add_with_inner(self, key: str, token: Token, start: int, end: int) -> None:
        """The flag's value, and what is set inside of it."""
        self._add(key, token.text[start:end], "flag", token, (start, end))
        for name, left, right in inner(key, token.text[start:end]):
            self._add(name, token.text[start + left : start + right], "flag", token, (start + left, start + right))

    def _add_list(self, key: str, values: list[Token]) -> None:
        text = " ".join(unquote(value.text)[0] for value in values).rstrip(_TRAILING)
        same_row = [value for value in values if value.row is values[0].row]
        first, last = same_row[0], same_row[-1]
        span = first.row.span(first.start, last.end)
        value = self.variables.resolve(text, first.row.line.number)
        self.settings.append(Setting(key, value, "flag", span, self.command))

    def _add(
        self, key: str, written: str, shape: str, token: Token, place: tuple[int, int], bare: bool = False
    ) -> None:
        value, left, right = unquote(written)
        if not value and not left or value in ("...", "…"):
            return
        within = key if shape == "env" else ""
        value = self.variables.resolve(value, token.row.line.number, within=within)
        span = token.span(place[0] + left, place[1] - right)
        self.settings.append(Setting(key, value, shape, span, self.command, bare))
