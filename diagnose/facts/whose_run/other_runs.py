"""Of two commands of one program the one that failed: what stands beside the other says that all went well."""

from __future__ import annotations

import re
from dataclasses import replace

from diagnose.facts.failing.said import FAILURE
from diagnose.facts.hardware.card_patterns import WENT_WELL
from diagnose.types import Command, Paste

_PROGRAM = 3  # words of a command that name what it runs
_NEXT = re.compile(r"[:：]\s*$", re.A)
_ASKED = re.compile(r"[?？吗]", re.A)


def of_failing_run(paste: Paste) -> Paste:
    """Without the settings of commands that went well, where another command of the same program did not."""
    if len(paste.commands) < 2:
        return paste
    well = {at for at, command in enumerate(paste.commands) if _went_well(paste, command)}
    failed = {command.words[:_PROGRAM] for at, command in enumerate(paste.commands) if at not in well}
    left_out = {at for at in well if paste.commands[at].words[:_PROGRAM] in failed}
    if not left_out:
        return paste
    return replace(paste, settings=tuple(one for one in paste.settings if one.command not in left_out))


def _went_well(paste: Paste, command: Command) -> bool:
    """Whether the line above the command, or the one below it, tells so and no failure."""
    others = {
        number
        for other in paste.commands
        for number in range(other.first_line, other.last_line + 1)
        if other is not command
    }
    written = [line for line in paste.lines if line.words.strip() and line.number not in others]
    # a line right below another command is about that one, unless it announces the next
    before = [line for line in written if line.number < command.first_line][-1:]
    above = [line.words for line in before if line.number - 1 not in others or _NEXT.search(line.words)]
    behind = [line for line in written if line.number > command.last_line][:1]
    below = [line.words for line in behind if not _NEXT.search(line.words)]
    if any(FAILURE.search(words) for words in above):
        return False
    return any(
        WENT_WELL.search(words) and not (FAILURE.search(words) or _ASKED.search(words)) for words in (*above, *below)
    )
