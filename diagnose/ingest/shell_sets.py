"""What a shell script's commands do to its variables, and what it was started with, as far as the text shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from diagnose.ingest.lines import Row
from diagnose.ingest.shell_values import Values, told

_ASSIGNS = re.compile(
    r"(?P<name>[A-Za-z_]\w{0,80})(?P<more>\+?)=(?P<value>\([^\n]{0,2000}|(?:\"(?:[^\"\\]|\\.){0,2000}+\"|'[^']{0,2000}+'"
    r"|\$\((?:[^()]|\((?:[^()]|\([^()]{0,200}\)){0,200}+\)){0,600}+\)|\$\{(?:[^{}]|\{[^{}]{0,200}\}){0,400}+\}|`[^`]{0,400}`|[^\s\"'`(]){0,600}+)(?:\s+|$)",
    re.A,
)
_DECLARES = re.compile(r"(?:export|local|readonly|declare|typeset)\s+(?:-\w+\s+)*", re.A)
_DECLARED = re.compile(r"[A-Za-z_]\w{0,80}(?:\s+|$)", re.A)
_IF_UNSET = re.compile(r"\$\{[A-Za-z_]\w{0,80}:?=", re.A)
_TAKES = re.compile(
    r"(?:!\s+)?(?:[A-Za-z_]\w{0,80}=\S{0,200}\s+)*+(?:(?:read|getopts|mapfile|readarray|unset|let|eval|printf\s+-v)\b|\(\((?=.*?(?:\+\+|--|[^<>=!]=(?!=)))|\w+\[)",
    re.A,
)
_SHIFTS = re.compile(r"(?:shift|set\s+--)(?=\s|$)", re.A)
# an assignment whose value goes on in the next row, or is none of a shell
_CUT_OFF = re.compile(rf"(?:{_DECLARES.pattern})?(?P<name>[A-Za-z_]\w{{0,80}})\+?=", re.A)
_NAMES = re.compile(r"[A-Za-z_]\w{0,80}", re.A)
_SOURCES = re.compile(
    r"(?:eval|source|\.)\s+(?!\S{0,300}(?:bin/activate|conda\.sh|bashrc|profile)\b|\S{0,300}\s?conda\b)\S", re.A
)
_SETTLES = re.compile(r"#!\s?/|#SBATCH\b|#PBS\b|set\s+-[a-z]", re.A)
# “USE_LORA=1 bash train.sh --fast”, behind a prompt or inside a sentence
_CALL = re.compile(
    r"(?:^|[\s`:：])(?P<given>(?:[A-Za-z_]\w{0,80}=[^\s\"'`]{0,200}[ \t]+){0,40})"
    r"(?:(?:(?:ba|z)?sh|source|\.)[ \t]+(?:-\w[ \t]+)*\S{1,300}\.(?:ba)?sh"
    r"|(?:sbatch[ \t]+(?:-\S+[ \t]+)*|\./)\S{1,300}\.(?:sh|slurm|sbatch|bash|job))\b(?P<rest>[^\n`|&;>#]{0,2000})",
    re.A,
)
# a row with which a script begins or that shows it at work
_OF_A_SCRIPT = re.compile(
    r"\s*(?:#!\s?/|(?:if|fi|case|esac|while|for|done)(?=[\s;]|$)|\[{1,2}\s)|[^#$]{0,200}\$(?:[\d#@*]|\{[\d#@*])", re.A
)
# cards for which a script looks by importing their library
_UNUSUAL = re.compile(
    r"\b(?:Ascend|Atlas)[ -]?\d|\b910[ABC]\d?\b|昇腾|\bNPU out of memory|\btorch_npu[/.]|\b\d+ ?[x×*]? ?NPUs?\b",
    re.I | re.A,
)
_PROMPT = re.compile(r"[ \t]*(?:\$|>|#)?[ \t]*(?:(?:nohup|env|sudo)[ \t]+)*", re.A)


class Assignment(NamedTuple):
    """A variable, what it is set to as written, and whether that is put behind what it holds."""

    name: str
    value: str
    more: bool


def assignments(text: str) -> list[Assignment]:
    """What a command sets that does nothing else; none where it does something else."""
    declares = _DECLARES.match(text)
    at = declares.end() if declares else 0
    sets: list[Assignment] = []
    while at < len(text):
        one = _ASSIGNS.match(text, at)
        if one:
            sets.append(Assignment(one["name"], one["value"], bool(one["more"])))
        elif not declares or not (one := _DECLARED.match(text, at)):
            return []
        at = one.end()
    return sets


def value_of(one: Assignment, values: Values) -> str | None:
    """What the variable holds then; None where nobody can tell."""
    if one.more or one.value[:1] == "(":
        return None
    return told(lambda: values.expand(one.value))


def settles(text: str, values: Values) -> None:
    """A line with which a script begins, or one that hands it what stands in another file."""
    if _SETTLES.match(text):
        values.whole = True
    elif _SOURCES.match(text):
        values.whole, values.sourced = False, True


def take(text: str, values: Values, sure: bool) -> None:
    """What a command that is no assignment may give variables: then nobody knows what they hold. ``sure``: it is run."""
    if _TAKES.match(text):
        cleared = "" if sure and text[:5] == "unset" else None
        values.held |= dict.fromkeys(_NAMES.findall(text), cleared)
    elif _SHIFTS.match(text):
        values.shifted = True
    elif (found := _CUT_OFF.match(text)) and not _ASSIGNS.match(text, found.start("name")):
        values.held[found["name"]] = None
    elif _IF_UNSET.search(text):
        text = text.removeprefix(":").strip()
        if not sure or told(lambda: values.expand(text)) is None:
            values.held |= dict.fromkeys(_NAMES.findall(text), None)


def started(rows: Sequence[Row]) -> Values:
    """What a call of a script that stands in the text gives its variables and its arguments; of several that differ nothing is told."""
    values, calls = Values(), set[tuple[str, ...] | None]()
    for given, arguments, inside in _calls(rows):
        for one in assignments(given.strip()):
            value = None if inside else value_of(one, values)
            values.held[one.name] = value if values.held.get(one.name, value) == value else None
        calls.add(arguments)
    values.shown = bool(calls)
    values.arguments = calls.pop() if len(calls) == 1 else None
    values.usual = not any(_UNUSUAL.search(row.words) for row in rows if row.words.lstrip()[:1] != "#")
    return values


def _calls(rows: Sequence[Row]) -> Iterator[tuple[str, tuple[str, ...] | None, bool]]:
    """What stands before each call, and behind it unless that is words of a sentence, and whether the script itself may be the caller."""
    script = [at for at, row in enumerate(rows) if _OF_A_SCRIPT.match(row.words)]
    for at, row in enumerate(rows):
        words = row.words
        found = _CALL.search(words) if "." in words and words.lstrip()[:2] not in ("#", "# ", "#!") else None
        inside = bool(script) and script[0] < at < script[-1]
        if found is None or (inside and _SOURCES.match(found[0].lstrip())):
            continue
        rest = found["rest"]
        for more in rows[at + 1 : at + 40]:
            if not rest.rstrip().endswith("\\"):
                break
            rest = f"{rest.rstrip()[:-1]} {more.words}"
        alone = _PROMPT.fullmatch(words[: found.start()].rstrip("`") + " ") is not None
        arguments = tuple(word.strip("\"'") for word in rest.split())
        told = not inside and (alone or all(word[:1] == "-" for word in arguments[:1]))
        yield found["given"], arguments if told and not any("$" in word for word in arguments) else None, inside
