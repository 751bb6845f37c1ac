"""Shell words: splitting a line into tokens with their columns, and putting in the variables that the text itself sets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from diagnose.ingest.arithmetic import arithmetic
from diagnose.ingest.lines import Row
from diagnose.types import Span

# One shell word: quoted parts, $(…) and plain characters side by side. Possessive, so that a lone quote costs one look.
_TOKEN = re.compile(
    r"""(?:"(?:[^"\\]|\\.){0,2000}+"|'[^']{0,2000}+'|\$\((?:[^()]|\((?:[^()]|\([^()]{0,80}\)){0,80}\)){0,200}+\)"""
    r"""|`expr[^`]{1,80}`|\$\{(?:[^{}"']|\{[^{}]{0,80}\}){0,80}+\}|\\[^\n]|[^\s"'\\`]|["'\\])++""",
    re.A,
)
_INNER_QUOTES = re.compile(r"'([^']*)'|\"([^\"]*)\"", re.A)
_ASSIGNED = re.compile(
    r"(?:export[ \t]+|local[ \t]+|declare[ \t]+(?:-\w[ \t]+)?|readonly[ \t]+|set[ \t]+)?([A-Za-z_]\w{0,80})=(?!=)"
    r"(?P<value>(?:\"(?:[^\"\\]|\\.)*+\"|'[^']*+'|\$\((?:[^()]|\((?:[^()]|\([^()]{0,80}\)){0,80}\)){0,200}+\)|[^;])*+);?",
    re.A,
)
# a variable of a Makefile, which its commands name as $(NAME)
_MADE = re.compile(
    r"(?P<name>[A-Za-z_]\w{0,80})[ \t]{0,8}[:?]=[ \t]{0,8}(?P<value>[^\s#][^#\n]{0,200}?)[ \t]*(?:#.*)?$", re.A
)
_INNER = r"(?:[^()]|\([^()]{0,80}\)){1,120}+"
# what stands for a variable that is not set: anything, with references of its own in it
_DEFAULT = r"(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,200}\}){0,200}+\}){0,400}+"
_SET_IF_UNSET = re.compile(rf"\$\{{(?P<name>[A-Za-z_]\w{{0,80}}):?=(?P<default>{_DEFAULT})\}}", re.A)
_REFERENCE = re.compile(
    rf"\$\(\((?P<sum>{_INNER})\)\)|\$\([ \t]*expr[ \t]+(?P<expr>{_INNER})\)|`[ \t]*expr[ \t]+(?P<tick>[^`]{{1,120}})`"
    rf"|\$\{{(?P<name>[A-Za-z_]\w{{0,80}}|\d)(?:(?P<colon>:)?[-=](?P<default>{_DEFAULT})|:?\?[^{{}}]{{0,200}})?\}}|\$(?P<bare>[A-Za-z_]\w{{0,80}})"
    r"|\$\((?P<pod>[A-Z_][A-Z0-9_]{0,80})\)",  # of a pod's command or a Makefile
    re.A,
)
# What a job's own directives set for its script: sbatch's manual, output environment variables. A range of nodes tells no number.
_DIRECTIVE = re.compile(
    r"\s--?(?P<name>nodes|N|ntasks-per-node|cpus-per-task|gpus-per-node|gres)(?:=|[ \t]*(?=\d)|[ \t]+)(?:gpu:)?"
    r"(?:[A-Za-z][\w.-]*:)?(?P<number>\d{1,6})(?=\s|$)",
    re.A,
)
_OF_NODES = ("SLURM_NNODES", "SLURM_JOB_NUM_NODES")
_OF_CARDS = ("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE")
_SET_BY_JOB = {
    "nodes": _OF_NODES,
    "N": _OF_NODES,
    "gpus-per-node": _OF_CARDS,
    "gres": _OF_CARDS,
    "ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
    "cpus-per-task": ("SLURM_CPUS_PER_TASK",),
}
_DEEP = 24  # variables that name variables
_LONG = 2_000  # characters of a value after putting in


class Token(NamedTuple):
    """A shell word as written, with its row and its columns in the row's words."""

    text: str
    row: Row
    start: int
    end: int

    def span(self, start: int = 0, end: int | None = None) -> Span:
        """The place of a part of the token, columns counted in the token."""
        return self.row.span(self.start + start, self.end if end is None else self.start + end)


def tokens(row: Row, start: int = 0, end: int | None = None) -> list[Token]:
    """The words of a row; backticks around a command part words like blanks."""
    stop = len(row.words) if end is None else end
    return [Token(found[0], row, found.start(), found.end()) for found in _TOKEN.finditer(row.words, start, stop)]


def unquote(text: str) -> tuple[str, int, int]:
    """The text without quotes around it, and how many characters went at its start and end."""
    if (
        len(text) >= 2
        and text[0] == text[-1]
        and text[0] in "\"'"
        and text[0] not in text[1:-1].replace("\\" + text[0], "")
    ):
        return text[1:-1].replace('\\"', '"') if text[0] == '"' else text[1:-1], 1, 1
    if text[:1] not in "[({" and ("'" in text or '"' in text):
        text = _INNER_QUOTES.sub(r"\1\2", text)
    return text, 0, 0


@dataclass(frozen=True, slots=True)
class Variables:
    """What the text sets, by name: the number of the line and the value as written, in the order of the text.

    None is a value that nobody can tell, as where the branches of a test differ that the script does not decide.
    """

    assigned: dict[str, list[tuple[int, str | None]]]
    used: frozenset[str]
    _known: dict[tuple[str, int], str | None] = field(default_factory=dict, compare=False)  # None while it is looked up

    def value(self, name: str, at: int, before: int | None = None) -> tuple[int, str | None] | None:
        """The line and the value that holds at a line: the last one set up to there, else the first one set later.

        ``before`` is the line on which the variable is set by way of itself: only what was set earlier counts.
        """
        found = self.assigned.get(name, [])
        if before is not None:
            return next(((number, value) for number, value in reversed(found) if number < before), None)
        return next(((number, value) for number, value in reversed(found) if number <= at), found[0] if found else None)

    def resolve(self, text: str, at: int, depth: int = 0, within: str = "") -> str:
        """The text with variables and whole-number arithmetic put in; what is not known keeps its text.

        ``within`` is the variable whose value the text is: ``N=${N:-8}`` is 8 where nothing sets it before.
        """
        if "$" not in text and "`" not in text or depth > _DEEP:
            return text

        def put(found: re.Match[str]) -> str:
            expression = found["sum"] or found["expr"] or found["tick"]
            if expression:
                number = self._evaluate(expression, at, depth, within)
                return found[0] if number is None else str(number)
            name = found["name"] or found["bare"] or found["pod"]
            value = self._named(name, at, depth, within)
            missing = value is None or (value == "" and found["colon"])
            if missing and found["default"] is not None and not self._untold(name, at):
                value = self.resolve(unquote(found["default"])[0], at, depth + 1, within)
            return found[0] if value is None else value[:_LONG]

        return _REFERENCE.sub(put, text)[:_LONG]

    def _named(self, name: str, at: int, depth: int, within: str) -> str | None:
        """The value of a variable with what it names put in; None when nothing sets it."""
        found = self.value(name, at, at if name == within else None)
        if found is None or found[1] is None:
            return None
        place = (name, found[0])
        if place not in self._known:
            self._known[place] = None
            value = self.resolve(found[1], found[0], depth + 1, name)
            self._known[place] = None if value in (f"${name}", f"${{{name}}}") else value
        return self._known[place]

    def _untold(self, name: str, at: int) -> bool:
        """Whether it is set to what nobody can tell, so that its default does not count either."""
        found = self.value(name, at)
        return found is not None and found[1] is None

    def _evaluate(self, expression: str, at: int, depth: int, within: str = "") -> int | None:
        """A whole number for ``16 / $n`` and its like; None when a name is unknown or the text is no arithmetic."""

        def number(name: str) -> int:
            return int(self._named(name, at, depth, within) or "")

        return arithmetic(self.resolve(expression.strip(), at, depth + 1, within), number)


def read_variables(rows: Sequence[Row], given: Iterable[tuple[str, int, str | None]] = ()) -> Variables:
    """Every assignment of the text, what a wrapper was ``given``, and what the directives of a job set; other comments are none."""
    assigned: dict[str, list[tuple[int, str | None]]] = {}
    used: set[str] = set()
    for row in rows:
        if "$" in row.words:
            used.update(
                found["name"] or found["bare"] or found["pod"] or "" for found in _REFERENCE.finditer(row.words)
            )
            for found in _SET_IF_UNSET.finditer(row.words) if "=" in row.words else ():
                held = f"${{{found['name']}:-{found['default']}}}"
                assigned.setdefault(found["name"], []).append((row.line.number, held))
        _put_directives(row, assigned)
        if "=" in row.words and (made := _MADE.match(row.words)):
            assigned.setdefault(made["name"], []).append((row.line.number, made["value"]))
        if "=" in row.words and _ASSIGNED.match(row.words.lstrip()):
            _put_assigned(row, assigned)
    for name, line, value in given:
        assigned.setdefault(name, []).append((line, value))
        assigned[name].sort(key=lambda one: one[0])
    return Variables(assigned, frozenset(used))


def _put_assigned(row: Row, assigned: dict[str, list[tuple[int, str | None]]]) -> None:
    for token in tokens(row):
        at = 0
        while found := _ASSIGNED.match(token.text, at):
            value, at = unquote(found["value"])[0], found.end()
            if value and value not in (f"${found[1]}", "$2", "${2}"):  # an argument of a wrapper
                assigned.setdefault(found[1], []).append((row.line.number, value))
        if not at and token.text not in ("export", "local", "declare", "readonly", "set", "&&"):
            break


def _put_directives(row: Row, assigned: dict[str, list[tuple[int, str | None]]]) -> None:
    for found in _DIRECTIVE.finditer(row.words) if row.words.lstrip().startswith("#SBATCH") else ():
        for name in _SET_BY_JOB[found["name"]]:
            assigned.setdefault(name, []).append((row.line.number, found["number"]))
