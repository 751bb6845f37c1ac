"""A command as a program hands it on: a list of quoted words, ``["python", "-m", "x", "--n", "4"]``, in one row or over many.

Forms: docs.python.org "subprocess", kubernetes.io "Define a Command and Arguments for a Container", wandb-metadata.json.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnose.ingest.arguments import is_argument, read_arguments
from diagnose.ingest.commands import from_program
from diagnose.ingest.lines import Row
from diagnose.ingest.shell import Token, Variables, tokens
from diagnose.ingest.starts import starts_command
from diagnose.types import Command, Setting

_OPENS = re.compile(r"\[[ \t]*(?=$|[\"'](?:--?[A-Za-z]|[\w./-]{2,200}[\"' ])|[a-z][\w./-]{1,80},)", re.A)
_YAML = re.compile(r"[ \t]*(?:- )?[a-z]\w{1,40}:[ \t]*$", re.A)  # whose words need no quotes
_ITEM = re.compile(
    r"[ \t]*(?:[rf]?\"(?P<double>[^\"\n]{0,1000})\"|[rf]?'(?P<single>[^'\n]{0,1000})'|(?P<bare>[^\s,\"'\[\]{}]{1,80}))[ \t]*(?:,|(?=\])|$)"
    r"(?:[ \t]*#.*$)?",
    re.A,
)
_CLOSES = re.compile(r"[ \t]*\]", re.A)
_OF_AN_OBJECT = re.compile(r"[\"']\w{1,40}[\"']:[ \t]*$|\{", re.A)
_OF_SHELL = ("-c", "-lc", "-ec", "-exc")
_MOST_ROWS, _FEW = 200, 3


def read_lists(
    rows: Sequence[Row], variables: Variables, commands: int
) -> tuple[list[Command], list[Setting], set[int]]:
    """The commands, which are numbered from ``commands`` on, their settings, and the numbers of the lines that hold nothing else."""
    found: list[Command] = []
    settings: list[Setting] = []
    used: set[int] = set()
    at = 0
    while at < len(rows):
        opens = _OPENS.search(rows[at].words) if "[" in rows[at].words else None
        words, end = _items(rows, at, opens.end()) if opens else ([], at)
        words = from_program(_in_shell(words))
        starts = len(words) >= _FEW and starts_command(words, False, ())
        if not opens or not (starts or _are_arguments(words)):
            at += 1
            continue
        of_list, own = read_arguments(words, variables, commands + len(found) if starts else -1)
        lines = [row.line.number for row in rows[at : end + 1]]
        found.extend(Command(one, lines[0], lines[-1], cut) for one, cut in of_list)
        settings.extend(own)
        used.update(lines[1:-1] if _OF_AN_OBJECT.search(rows[at].words[: opens.start()]) else lines)
        at = end + 1
    return found, settings, used


def _in_shell(words: list[Token]) -> list[Token]:
    """What a shell is handed, without the words that start it."""
    handed = next((at for at, word in enumerate(words[:3]) if word.text in _OF_SHELL), -1)
    return words[handed + 1 :] if len(words) > handed + 2 else words


def _are_arguments(words: Sequence[Token]) -> bool:
    return len(words) >= _FEW and words[0].text[:2] == "--" and is_argument(words[0].text)


def _items(rows: Sequence[Row], at: int, start: int) -> tuple[list[Token], int]:
    """The list's items up to its end, and the place of the row that it ends on; what is no quoted word may be anything."""
    items: list[Token] = []
    plain = bool(_YAML.match(rows[at].words[: start - 1].rstrip("[ \t")))
    for place in range(at, min(at + _MOST_ROWS, len(rows))):
        row = rows[place]
        if row.source != rows[at].source:
            break
        column = start if place == at else 0
        while item := _ITEM.match(row.words, column):
            items += _tokens(row, item, plain, not items or items[-1].text in _OF_SHELL)
            column = item.end()
        if _CLOSES.match(row.words, column):
            return items, place
        if row.words[column:].strip():
            break
    return [], at


def _tokens(row: Row, item: re.Match[str], plain: bool, of_shell: bool) -> list[Token]:
    """An item as a word; a variable of a program as one that nobody tells, and a whole line that a shell is handed as its words."""
    group = item.lastgroup or "bare"
    text, start, end = item[group], *item.span(group)
    if of_shell and " -" in text:
        return tokens(row, start, end)
    if group == "bare" and not plain and not text.replace(".", "").isdecimal():
        text = "${" + text + "}"
    return [Token(text or "''", row, start, end)]
