"""What stands before every line of a copy: counted lines, names of machines, and any other label that the text itself shows.

No list of the formats of all collectors, chats and consoles would ever be whole. But a traceback begins at the margin wherever a
program prints one; so what stands before its lines, and before others alike but for the figures, is a label.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from os.path import commonprefix

Numbered = tuple[int, str]
Known = Callable[[str, int], int]
LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|EXCEPTION|TRACE)"
# What a launcher, a collector or an editor puts before every line: a number, or the name of a machine or a container.
_LABEL = re.compile(
    r"(?P<number>[ ]{0,6}\d{1,6})(?::(?!\d\d:)[ ]?|\t|[ ]?\|[ ])|(?P<name>‹host›|‹address›|[a-z][\w.-]{0,60}\d)(?::|[ ]+\|)[ ]|>{1,3}[ ]?",
    re.A,
)
_FEW = 3  # lines that begin alike by chance
_CELL = re.compile(
    r"\d+\.\d+\t", re.A
)  # behind the number a table has its next column, as Ray's of processes and what they hold
# What a program prints at the margin, and nothing else puts there.
_ANCHOR = re.compile(
    r"Traceback \(most recent call last\)|[ ]{2}File \"[^\"\n]{1,400}\", line \d"
    r"|(?<![\w.])[A-Za-z_][\w.]{0,80}(?:Error|Exception): ",
    re.A,
)
_LONGEST = 160  # characters of a label
_STOPS = re.compile(r"[ \t:|>)\]]+", re.A)
_ENDS = " \t:|>]-"  # the last sign of a label
_BLANK = ("", " ", "\t")
_MOST = 8  # labels of one text
# What differs in a label from line to line.
_DIFFERS = re.compile(rf"(^[ ]*\d+|\d+|\b{LEVEL}\b[ ]*|\bstd(?:out|err)\b)", re.A)
_SOURCE = re.compile(r"(?i)\b(?:rank|worker|node|gpu)[ ]\d+|[a-z][\w.-]*\d(?![\w:/])", re.A)


def counted_or_named(lines: Iterable[tuple[int, str]]) -> dict[int, tuple[int, str]]:
    """Where the text begins behind a label, and whose it is, by the line's number; only where lines in a row have labels of a kind."""
    labels: dict[int, tuple[int, str]] = {}
    run: list[tuple[int, re.Match[str]]] = []
    kind = None
    for number, text in lines:
        found = _LABEL.match(text)
        if found is None and not text:
            continue
        if run and (found is None or found.lastgroup != kind):
            labels |= _labelled(run)
            run = []
        if found is not None:
            kind = found.lastgroup
            run.append((number, found))
    return labels | _labelled(run)


def _labelled(run: Sequence[tuple[int, re.Match[str]]]) -> dict[int, tuple[int, str]]:
    """The labels of lines in a row; numbers that count the lines tell no process, others do."""
    if len(run) < _FEW or all(_CELL.match(found.string, found.end()) for _, found in run):
        return {}
    # a blank is the label's where all have it, else the text's
    parted = all(found[0][-1] == " " for _, found in run if found.end() < len(found.string))
    ends = {number: found.end() - (not parted and found[0][-1] == " ") for number, found in run}
    if run[0][1].lastgroup != "number":
        names = {found["name"] or "" for _, found in run}
        hidden = any(name[:1] == "‹" for name in names)  # then one machine may have two names
        return {number: (ends[number], "" if hidden else found["name"] or "") for number, found in run}
    steps = [int(after["number"]) - int(found["number"]) for (_, found), (_, after) in pairwise(run)]
    if min(steps) > 0 and 2 * steps.count(1) >= len(steps):  # they count the lines
        return {number: (ends[number], "") for number, _ in run}
    if all(found[0][-1] in ": " and "|" not in found[0] for _, found in run):
        return {number: (ends[number], found[0].strip()) for number, found in run}
    return {}


def learned(lines: Iterable[Numbered], known: Known) -> dict[int, tuple[int, str]]:
    """The same for any label that the text itself shows; ``known`` tells how far a prefix that has a name goes."""
    lines = [line for line in lines if line[1].strip()]
    labels: dict[int, tuple[int, str]] = {}
    for label in {_shape(label): label for label in (_of_all(lines), *_of_tracebacks(lines, known)) if label}.values():
        shape = re.compile(_shape(label))
        matched = [(number, found) for number, text in lines if (found := shape.match(text))]
        if len(matched) >= _FEW:
            parted = all(found.string[found.end() :][:1] in _BLANK for _, found in matched)
            labels |= {number: (found.end() + parted, " ".join(_SOURCE.findall(found[0]))) for number, found in matched}
    return labels


def _of_tracebacks(lines: Sequence[Numbered], known: Known) -> Iterable[str]:
    """What stands before the lines of tracebacks and the prefixes that have a name."""
    labels: dict[str, None] = {}
    for _, text in lines:
        if not ("rror: " in text or 'File "' in text or "Traceback (" in text or "xception: " in text):
            continue  # spelled out, since this asks every line
        if found := _ANCHOR.search(text, 0, 4 * _LONGEST):
            end = len(text[: found.start()].rstrip())
            if not end:
                continue
            starts = (0, *(stop.end() for stop in _STOPS.finditer(text, 0, end)), end)
            label = text[: next(at for at in starts if known(text, at) >= end or at == end)].rstrip()
            if label and len(label) <= _LONGEST:
                labels[label] = None
            if len(labels) > _MOST:
                break
    return labels


def _of_all(lines: Sequence[Numbered]) -> str:
    """What all lines begin with, but for figures, where behind it some are indented and some are not."""
    heads = {text[0] for _, text in lines}
    if (
        len(lines) < 2 * _FEW
        or "#" in heads
        or (len(heads) > 1 and any(not (head.isdigit() or head == " ") for head in heads))
    ):
        return ""
    first = lines[0][1][:_LONGEST]
    alike = commonprefix([_DIFFERS.sub("0", text[:_LONGEST]) for _, text in lines])
    alike = alike[: max(map(alike.rfind, _ENDS)) + 1]
    ends = (at for at, sign in enumerate(first, 1) if sign in _ENDS and _DIFFERS.sub("0", first[:at]) == alike)
    label = first[: next(ends, 0)].rstrip()
    shape = re.compile(_shape(label))
    rests = [text[found.end() :] for _, text in lines if (found := shape.match(text))]
    indented = sum(rest[:3] == "   " and not rest.lstrip()[:1].isdigit() for rest in rests)
    table = not label.strip("|+│┃║")  # which has bars before all lines
    return label if not table and len(rests) == len(lines) and 0 < indented < len(lines) else ""


def _shape(label: str) -> str:
    """A pattern of the label whatever its figures and its level are."""
    parts = _DIFFERS.split(label)
    differing = (r"[ ]*\d+" if part[-1].isdigit() else rf"(?:{LEVEL}[ ]*|std(?:out|err))" for part in parts[1::2])
    fixed = [re.escape(part) for part in parts[::2]]
    return (
        fixed[0]
        + "".join(one + two for one, two in zip(differing, fixed[1:], strict=True))
        + r"(?!\w)" * label[-1:].isalnum()
    )
