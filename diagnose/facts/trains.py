"""Whether the commands of a paste train anything, and which settings belong to those that do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from diagnose.knowledge.records import Framework
from diagnose.types import Command, Fact, Line, Paste, Span

# a command of one line with a flag or a file at most, which is read as no command since sentences look alike
_SHORT = re.compile(
    r"\s*(?:[$>] )?(?:[A-Z_]+=\S+ )*(?P<program>[a-z][\w./-]*(?: [\w./-]+){0,2}?) (?:--?\w|\S+\.(?:ya?ml|json)\b)", re.A
)

_OF_TRAINING = ("micro_batch", "gradient_accumulation", "train_batch_size", "rollout_n")


def of_training(paste: Paste, framework: Framework | None) -> Paste:
    """The paste without the settings of commands that infer, export or serve, where another one trains.

    Those of an engine that answers for a training stay: they tell how it is sampled.
    """
    if framework is None or not any(_trains(_words(command), framework) for command in paste.commands):
        return paste
    others = {i for i, command in enumerate(paste.commands) if _starts(_words(command), framework.detect.idle)}
    if not others:
        return paste
    return replace(paste, settings=tuple(setting for setting in paste.settings if setting.command not in others))


def read_trains(paste: Paste, framework: Framework | None, stated: Mapping[str, Fact]) -> Fact | None:
    """That nothing is trained, where all commands do something else and nothing speaks of a training.

    An engine may answer for a training whose command is not in the paste: what names an algorithm speaks of one.
    """
    if framework is None or any(id in stated for id in _OF_TRAINING):
        return None
    others = (*framework.detect.idle, *(() if "algo" in stated else framework.detect.serves))
    lines = {line.number: line for line in paste.lines}
    started = [(_words(command), lines.get(command.first_line)) for command in paste.commands]
    started += [(f"{found['program']} ", line) for line in paste.lines if (found := _SHORT.match(line.words))]
    if any(_trains(words, framework) for words, _ in started):
        return None
    idle = next(((words, line) for words, line in started if _starts(words, others)), None)
    return _fact(*idle) if idle else None


def _fact(words: str, line: Line | None) -> Fact:
    span = Span(line.number, 0, len(line.text)) if line else None
    return Fact("trains", False, "read", written=words.strip(), span=span)


def _trains(words: str, framework: Framework) -> bool:
    """A command of the framework, or a script of one's own, that neither infers nor serves."""
    marks = framework.detect
    return (".py " in words or _starts(words, marks.commands)) and not _starts(words, (*marks.idle, *marks.serves))


def _words(command: Command) -> str:
    return " ".join(command.words) + " "


def _starts(words: str, literals: tuple[str, ...]) -> bool:
    return any(literal in words for literal in literals)
