"""Logs of several runs one below the other, each below its command as a shell echoed it: the last one that failed is the run."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnose.facts.whose_run.quoted import without
from diagnose.types import Command, Line, Paste

_PROGRAM = 3  # words of a command that name what it runs
# a trace of the shell's (``set -x``), or a prompt
_ECHOED = re.compile(r"\s{0,8}(?:\+{1,3}[ \t]|[^\s'\"][^'\"\n]{0,100}[$#][ \t]|[$#][ \t])", re.A)
_FAILED = re.compile(
    r"Traceback \(most recent call last\)|(?:^|\s)(?:[\w.]{1,80}\.)?\w{0,40}(?:Error|Exception)(?:\(\w{1,40}\))?: "
    r"|\b(?:oom[-_]kill|OOMKilled|exit ?code:? -?[1-9])|^Killed\b",
    re.A,
)
_WELL = re.compile(r"'train_runtime':|^wandb: Run summary:|\btraining (?:completed|finished)\b", re.I | re.A)


def of_last_run(paste: Paste) -> Paste:
    """The paste without the runs before and behind the one that failed last: such of the same program, or that went well.

    Where one command stands behind another and nothing between them tells of an end, both are of one run: a server and its trainer.
    """
    starts = _starts(paste)
    if len(starts) < 2:
        return paste
    ends = [*(one.first_line for one in starts[1:]), paste.lines[-1].number + 1]
    parts = [
        [line for line in paste.lines if one.first_line <= line.number < end]
        for one, end in zip(starts, ends, strict=True)
    ]
    failed = [at for at, part in enumerate(parts) if _tells(part, _FAILED)]
    if not failed:
        return paste
    last = failed[-1]
    left = {
        line.number
        for at, part in enumerate(parts)
        if at != last and (_same(starts[at], starts[last]) or (at not in failed and _tells(part, _WELL)))
        for line in part
    }
    return without(paste, left) if left else paste


def told_so(whole: Paste, paste: Paste) -> tuple[str, ...]:
    """What a person should know where runs were left out: from which line on the one that was read stands."""
    if paste is whole:
        return ()
    kept = {one.first_line for one in paste.commands if one.words}
    gone = [one.first_line for one in whole.commands if one.words and one.first_line not in kept]
    first = min((line for line in kept if line > min(gone, default=0)), default=min(kept, default=1))
    return (f"The log holds several runs; only the last that failed was read, from line {first} on",)


def _starts(paste: Paste) -> list[Command]:
    """The echoed commands behind which a run begins: behind all but the first stands the end of the one before."""
    texts = {line.number: line for line in paste.lines}
    found: list[Command] = []
    for command in paste.commands:
        line = texts.get(command.first_line)
        if line is None or command.cut or not command.words or not _ECHOED.match(line.text):
            continue
        if not found or _ended(paste.lines, found[-1], command):
            found.append(command)
    return found


def _ended(lines: Sequence[Line], before: Command, command: Command) -> bool:
    between = [line for line in lines if before.last_line < line.number < command.first_line]
    return _tells(between, _FAILED) or _tells(between, _WELL)


def _tells(lines: Sequence[Line], form: re.Pattern[str]) -> bool:
    return any(form.search(line.words) for line in lines)


def _same(one: Command, other: Command) -> bool:
    return one.words[:_PROGRAM] == other.words[:_PROGRAM]
