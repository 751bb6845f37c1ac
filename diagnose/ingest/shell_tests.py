"""What a shell's test comes to, as of ``[ "$X" = 1 ]``, ``[[ -n $X && $Y == a* ]]`` or ``(( N > 1 ))``: yes, no, or untold."""

from __future__ import annotations

import re
from collections.abc import Callable

from diagnose.ingest.shell_values import UntoldError, Values, told, whole

_WORD = re.compile(
    r"\s*(?:(?P<sign>&&|\|\||[()])|(?P<word>(?:\"(?:[^\"\\]|\\.){0,1000}+\"|'[^'\n]{0,1000}+'|\$\{[^{}\n]{0,200}(?:\{[^{}\n]{0,200}\})?[^{}\n]{0,200}\}"
    r"|\\.|[^\s\"'&|()\\]){1,200}+))",
    re.A,
)
_BINARY = frozenset("= == != =~ -eq -ne -gt -ge -lt -le < >".split())  # noqa: SIM905
_NUMERIC: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda one, two: one == two, "-ne": lambda one, two: one != two, "-gt": lambda one, two: one > two,
    "-ge": lambda one, two: one >= two, "-lt": lambda one, two: one < two, "-le": lambda one, two: one <= two,
}  # fmt: skip
# a regular expression that a shell's test may hold and that looks at each letter once
_PLAIN_PATTERN = re.compile(r"\^?[\w| -]{1,80}\$?", re.A)
_BARE = re.compile(r"\$\{[^\s\"']{1,200}\}|\$\w+", re.A)
_NAME = re.compile(r"[A-Za-z_]\w{0,80}", re.A)


def decide(text: str, values: Values) -> bool | None:
    """What one command comes to as a test; None where the script does not tell, or where it is none."""
    words = text.strip()
    try:
        if words[:2] == "! ":
            inner = decide(words[2:], values)
            return None if inner is None else not inner
        if words[:2] == "((" and words[-2:] == "))":
            return bool(values.sum_of(words[2:-2]))
        if words[:3] == "[[ " and words[-3:] == " ]]":
            return _Test(words[2:-2], values, double=True).read()
        if words[:2] == "[ " and words[-2:] == " ]":
            return _Test(words[1:-1], values, double=False).read()
        if words[:5] == "test ":
            return _Test(words[5:], values, double=False).read()
        return {"true": True, ":": True, "false": False}.get(_program(words, values))
    except (UntoldError, RecursionError):
        return None


def _program(words: str, values: Values) -> str:
    """The name of the program that a command of one word runs."""
    return values.expand(words) if words and not words[0].isalpha() and " " not in words else words


class _Test:
    """The words between the brackets, read from left to right; what is not told may be decided by what stands beside it."""

    def __init__(self, text: str, values: Values, double: bool) -> None:
        self.values, self.double, self.at = values, double, 0
        self.words: list[str] = []
        place = 0
        while place < len(text.rstrip()):
            found = _WORD.match(text, place)
            if found is None:
                raise UntoldError(text)
            place = found.end()
            if double or not self._vanishes(found["word"] or ""):
                self.words.append(found["sign"] or found["word"])

    def _vanishes(self, word: str) -> bool:
        """Whether a shell takes the word away: a variable without quotes that holds nothing, so that ``[ -n $X ]`` is of one word."""
        text = told(lambda: self.values.expand(word)) if _BARE.fullmatch(word) else None
        if text and " " in text:
            raise UntoldError(word)
        return text == ""

    def read(self) -> bool | None:
        value = self._either() if self.words else False
        if self.at < len(self.words):
            raise UntoldError(" ".join(self.words))
        return value

    def _next(self, *signs: str) -> bool:
        """Whether one of the signs stands next; it is passed."""
        found = self.words[self.at : self.at + 1]
        self.at += bool(found) and found[0] in signs
        return bool(found) and found[0] in signs

    def _either(self) -> bool | None:
        value = self._both()
        while self._next("||" if self.double else "-o"):
            value = either(value, self._both())
        return value

    def _both(self) -> bool | None:
        value = self._one()
        while self._next("&&" if self.double else "-a"):
            value = both(value, self._one())
        return value

    def _one(self) -> bool | None:
        if self._next("!"):
            value = self._one()
            return None if value is None else not value
        if self._next("(", "\\("):
            value = self._either()
            if not self._next(")", "\\)"):
                raise UntoldError(")")
            return value
        left, sign, right = (self.words[self.at : self.at + 3] + ["", "", ""])[:3]
        if sign in _BINARY and right:
            self.at += 3
            return told(lambda: self._compared(left, sign, right))
        if left in ("-n", "-z", "-v") and sign:
            self.at += 2
            word = f"${{{sign}+set}}" if left == "-v" else sign
            return told(lambda: bool(self.values.expand(word)) is not (left == "-z"))
        if not left:
            raise UntoldError("no word is left")
        if sign and left[0] == "-" and len(left) == 2 and left[1].isalpha():
            self.at += 2  # about a file
            return None
        self.at += 1
        return told(lambda: bool(self.values.expand(left)))

    def _compared(self, left: str, sign: str, right: str) -> bool | None:
        if sign in _NUMERIC:
            one, two = self._number(left), self._number(right)
            return False if one is None or two is None else _NUMERIC[sign](one, two)
        one_text = self.values.expand(left)
        if sign == "=~":
            return bool(re.search(right, one_text)) if _PLAIN_PATTERN.fullmatch(right) else None
        if sign in ("<", ">"):
            return None
        same = self.values.fits(one_text, right) if self.double else one_text == self.values.expand(right)
        return same is (sign != "!=")

    def _number(self, word: str) -> int | None:
        """What a comparison of numbers takes the word for; None where it refuses it."""
        text = self.values.expand(word).strip()
        if self.double and _NAME.fullmatch(text):
            text = self.values.of(text, default=False) or ""
        if not text:
            return 0 if self.double else None
        return whole(text)


def both(one: bool | None, two: bool | None) -> bool | None:
    """Whether both hold: not where one surely does not."""
    return False if one is False or two is False else None if one is None or two is None else True


def either(one: bool | None, two: bool | None) -> bool | None:
    """Whether one holds."""
    return True if one or two else None if one is None or two is None else False
