"""What a shell's test comes to, as of ``[ "$X" = 1 ]``, ``[[ -n $X && $Y == a* ]]`` or ``(( N > 1 ))``: yes, no, or untold."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from diagnose.ingest.evaluate import FAULTS, Evaluation

_REFERENCE = re.compile(
    r"\$\{(?P<name>[A-Za-z_]\w{0,80}|[\d#])(?:(?P<how>:?[-+=?]|,,|\^\^)(?P<word>(?:[^{}]|\{[^{}]{0,200}\}){0,400}+))?\}"
    r"|\$(?P<bare>[A-Za-z_]\w{0,80}|[\d#])",
    re.A,
)
_WORD = re.compile(
    r"\s*(?:(?P<sign>&&|\|\||[()])|(?P<word>(?:\"(?:[^\"\\]|\\.){0,1000}+\"|'[^'\n]{0,1000}+'|\$\{[^{}\n]{0,200}(?:\{[^{}\n]{0,200}\})?[^{}\n]{0,200}\}"
    r"|\\.|[^\s\"'&|()\\]){1,200}+))",
    re.A,
)
# what a scheduler, a shell or a launcher sets before the script begins, also where the script has a default for it
_BY_OTHERS = re.compile(
    r"(?:SLURM|PBS|LSB|OMPI|PMI|KUBERNETES|CONDA|XDG)_\w+|HOME|USER|PATH|PWD|HOST|HOSTNAME|SHELL|TERM|LD_LIBRARY_PATH|OPTARG|OPTIND|REPLY|RANDOM"
    r"|SECONDS|BASH\w*|LINENO|EUID|UID|OSTYPE|VIRTUAL_ENV|JOB_ID",
    re.A,
)
# and what often is, where it has none
_MAYBE_BY_OTHERS = re.compile(
    r"(?:CUDA|NCCL|HF|HUGGING_?FACE|WANDB|AWS|RAY|PET|TORCH|NVIDIA|GPU|GPUS|NUM_GPUS|NPROC)_?\w*|(?:MASTER|LOCAL|NODE|WORLD|GLOBAL|GROUP)_\w+"
    r"|RANK|NNODES|NODES|N_NODES|NUM_NODES|N_GPUS|N_GPUS_PER_NODE|\w*_?(?:TOKEN|API_KEY)|DEBUG|CI|TMPDIR|PYTHONPATH",
    re.A,
)
_BINARY = frozenset("= == != =~ -eq -ne -gt -ge -lt -le < >".split())  # noqa: SIM905
_NUMERIC: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda one, two: one == two, "-ne": lambda one, two: one != two, "-gt": lambda one, two: one > two,
    "-ge": lambda one, two: one >= two, "-lt": lambda one, two: one < two, "-le": lambda one, two: one <= two,
}  # fmt: skip
# a regular expression that a shell's test may hold and that looks at each letter once
_PLAIN_PATTERN = re.compile(r"\^?[\w| -]{1,80}\$?", re.A)
_INTEGER = re.compile(r"-?\d{1,15}", re.A)
_NAME = re.compile(r"[A-Za-z_]\w{0,80}", re.A)
_SUM = re.compile(r"[\w\s()+*/%<>=!&|$\{\}-]{1,200}", re.A)
_SUM_SIGNS = (
    ("&&", " and "),
    ("||", " or "),
    ("!=", "≠"),
    ("!", " not "),
    ("≠", "!="),
    ("/", "//"),
    ("$", ""),
    ("{", ""),
    ("}", ""),
)


# “import a library of other cards, and echo one name or else another”: what it comes to where nothing in the text is of those cards
_PROBE = re.compile(
    r"\$\(\s*python3?\s+-c\s+['\"]?import \w{1,40}['\"]?[^()|&]{0,40}&&\s*echo\s+[\"']?\w{1,20}[\"']?"
    r"\s*\|\|\s*echo\s+[\"']?(?P<other>\w{1,20})[\"']?\s*\)",
    re.A,
)


class UntoldError(Exception):
    """What a test comes to cannot be told from the text."""


@dataclass(slots=True)
class Values:
    """What the script's variables hold as far as it has gone; None where it has set one to what nobody can tell.

    ``whole``: the script shows the settings above, so that a name which is not among them is not set, unless another file that it has
    ``sourced`` may set it. ``arguments`` are those of the one call that is ``shown``, None where nobody can tell them. ``usual``: no
    word of the text is of cards that libraries of their own serve. ``asked`` collects the names that were looked up.
    """

    held: dict[str, str | None] = field(default_factory=dict)
    whole: bool = False
    sourced: bool = False
    shown: bool = False
    arguments: tuple[str, ...] | None = None
    usual: bool = True
    asked: set[str] = field(default_factory=set)

    def of(self, name: str, default: bool) -> str | None:
        """The value; None where it is not set. ``default``: the script says what counts then."""
        self.asked.add(name)
        if name in self.held:
            if (value := self.held[name]) is None:
                raise UntoldError(name)
            return value
        if name.isdecimal() or name == "#":
            return self._argument(name, default)
        told = self.whole and not self.sourced and not _MAYBE_BY_OTHERS.fullmatch(name)
        if _BY_OTHERS.fullmatch(name) or not (told or default):
            raise UntoldError(name)
        return None

    def _argument(self, name: str, default: bool) -> str | None:
        """What it was called with; without a call in the text its own default counts."""
        if self.arguments is None or name == "0":
            if default and not self.shown:
                return None
            raise UntoldError(name)
        if name == "#":
            return str(len(self.arguments))
        return self.arguments[int(name) - 1] if int(name) <= len(self.arguments) else None

    def expand(self, word: str) -> str:
        """A word of the shell with its variables put in and its quotes taken off."""
        if len(word) > 1 and word[0] == word[-1] == "'" and "'" not in word[1:-1]:
            return word[1:-1]
        if "import" in word and self.usual:
            word = _PROBE.sub(r"\g<other>", word)
        text = _REFERENCE.sub(self._put, word.replace('"', ""))
        if "$" in text or "`" in text or "'" in text:
            raise UntoldError(word)
        return text.replace("\\", "")

    def _put(self, found: re.Match[str]) -> str:
        how, name = found["how"] or "", found["name"] or found["bare"]
        value = self.of(name, how[-1:] in ("-", "="))
        if how[-1:] in ("-", "="):
            missing = value is None or (how[0] == ":" and not value)
            value = self.expand(found["word"]) if missing else value or ""
            if how[-1:] == "=":
                self.held[name] = value
            return value
        if how[-1:] == "+":
            return self.expand(found["word"]) if value or (value is not None and how == "+") else ""
        if how[-1:] == "?" and not value:
            raise UntoldError(name)
        value = value or ""
        return value.lower() if how == ",," else value.upper() if how == "^^" else value


def decide(text: str, values: Values) -> bool | None:
    """What one command comes to as a test; None where the script does not tell, or where it is none."""
    words = text.strip()
    try:
        if words[:2] == "! ":
            inner = decide(words[2:], values)
            return None if inner is None else not inner
        if words[:2] == "((" and words[-2:] == "))":
            return _sum(words[2:-2], values)
        if words[:2] == "[[" and words[-2:] == "]]":
            return _Test(words[2:-2], values, double=True).read()
        if words[:1] == "[" and words[-1:] == "]":
            return _Test(words[1:-1], values, double=False).read()
        if words[:5] == "test ":
            return _Test(words[5:], values, double=False).read()
        return {"true": True, ":": True, "false": False}.get(_program(words, values))
    except (UntoldError, RecursionError):
        return None


def _program(words: str, values: Values) -> str:
    """The name of the program that a command of one word runs."""
    return values.expand(words) if words and not words[0].isalpha() and " " not in words else words


def _sum(text: str, values: Values) -> bool | None:
    """``(( A > 1 && B ))``: names stand for whole numbers."""
    if not _SUM.fullmatch(text) or re.search(r"(?<![<>=!])=(?!=)|\+\+|--", text):
        return None
    for sign, word in _SUM_SIGNS:
        text = text.replace(sign, word)

    def number(name: str, _: int) -> object:
        return int(_whole(values.of(name, default=False) or "0"))

    try:
        return bool(Evaluation(number, 0).of(ast.parse(text.strip(), mode="eval").body))
    except FAULTS:
        return None


def _whole(text: str) -> str:
    if not _INTEGER.fullmatch(text.strip()):
        raise UntoldError(text)
    return text.strip()


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
            self.words.append(found["sign"] or found["word"])
            place = found.end()

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
            return self._told(lambda: self._compared(left, sign, right))
        if left in ("-n", "-z", "-v") and sign:
            self.at += 2
            return self._told(lambda: bool(self._text(sign, left == "-v")) is not (left == "-z"))
        if not left or (left[0] == "-" and len(left) == 2 and left[1].isalpha()):
            self.at += 1 + bool(sign)  # about a file
            return None
        self.at += 1
        return self._told(lambda: bool(self.values.expand(left)))

    def _told(self, value: Callable[[], bool | None]) -> bool | None:
        try:
            return value()
        except UntoldError:
            return None

    def _text(self, word: str, name: bool) -> str:
        return self.values.expand(f"${{{word}+set}}" if name else word)

    def _compared(self, left: str, sign: str, right: str) -> bool | None:
        if sign in _NUMERIC:
            one, two = self._number(left), self._number(right)
            return False if one is None or two is None else _NUMERIC[sign](one, two)
        one_text = self.values.expand(left)
        if sign == "=~":
            return bool(re.search(right, one_text)) if _PLAIN_PATTERN.fullmatch(right) else None
        two_text = self.values.expand(right)
        if sign in ("<", ">"):
            return None
        glob = self.double and right[0] not in "\"'" and any(mark in right for mark in "*?[")
        same = fnmatchcase(one_text, two_text) if glob else one_text == two_text
        return same is (sign != "!=")

    def _number(self, word: str) -> int | None:
        """What a comparison of numbers takes the word for; None where it refuses it."""
        text = self.values.expand(word).strip()
        if self.double and _NAME.fullmatch(text):
            text = self.values.of(text, default=False) or ""
        if not text:
            return 0 if self.double else None
        return int(_whole(text))


def both(one: bool | None, two: bool | None) -> bool | None:
    """Whether both hold: not where one surely does not."""
    return False if one is False or two is False else None if one is None or two is None else True


def either(one: bool | None, two: bool | None) -> bool | None:
    """Whether one holds."""
    return True if one or two else None if one is None or two is None else False
