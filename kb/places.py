"""Where in a document a misfit stands, so that an editor can go there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from diagnose.knowledge.loader import Problem

_MOST = 300  # letters of a message that a page shows


@dataclass(frozen=True)
class Finding:
    """A misfit as an editor shows it: the field, the line where it stands (0: of the whole document), and the words."""

    field: str
    line: int
    says: str


def findings(text: str, problems: list[Problem]) -> list[Finding]:
    """The misfits in the order of the document."""
    found = [_finding(text, problem) for problem in problems]
    return sorted(dict.fromkeys(found), key=lambda finding: (finding.line or 10**6, finding.field))


def _finding(text: str, problem: Problem) -> Finding:
    _, _, field = problem.place.partition(": ")
    says = problem.says if len(problem.says) <= _MOST else problem.says[:_MOST] + " …"
    if strange := re.match("unknown fact “([^”]+)”", says):
        field = f"{field}.{strange[1]}"
    told = re.search(r"\(at line (\d+),|\b[Ll]ine (\d+)\b", says)
    line = int(told[1] or told[2]) if told else line_of(text, field) if field else 0
    return Finding(field, line, says)


def line_of(text: str, field: str) -> int:
    """The line of ``facts.phase``, ``fix[1].lever``, ``title`` or ``body``, from 1; of the table that lacks it, or 0."""
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if line.rstrip() == "+++"][:2]
    if field == "body" and len(fences) == 2:
        return fences[1] + 2
    name, _, rest = field.partition(".")
    table = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", name)
    start, end = 0, fences[1] if len(fences) == 2 else len(lines)
    if table and (rest or table[2]):
        header = re.compile(rf"\s*\[\[?\s*{table[1]}\s*\]\]?")
        starts = [number for number in range(end) if header.match(lines[number])]
        which = int(table[2] or 0)
        if which >= len(starts):
            return line_of(text, table[1]) if rest or table[2] else 0
        start = starts[which]
        name = rest.split(".")[0].split("[")[0]
        if not name:
            return start + 1
    key = re.compile(rf"\s*{re.escape(name.split('[')[0])}\s*=")
    for number in range(start, end):
        if key.match(lines[number]):
            return number + 1
        if number > start and re.match(r"\s*\[", lines[number]):
            break
    return start + 1 if start else 0
