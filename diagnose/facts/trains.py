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

_MODEL = re.compile(r"\w/\w", re.A)  # a name with its owner, or a path
_OF_TRAINING = ("micro_batch", "gradient_accumulation", "train_batch_size", "rollout_n")


def of_training(paste: Paste, framework: Framework | None, engines: tuple[str, ...]) -> Paste:
    """The paste without the settings of commands that infer, export or serve, where another one trains.

    Those of an engine that answers for a training stay: they tell how it is sampled. One of ``engines``, which serve anybody, may be
    a judge's: it stays where it serves the model that is trained.
    """
    if framework is None or not any(_trains(_words(command), framework, engines) for command in paste.commands):
        return paste
    others = {i for i, command in enumerate(paste.commands) if _starts(_words(command), framework.detect.idle)}
    others |= {i for i, command in enumerate(paste.commands) if _serves_another(paste, command, i, engines)}
    if not others:
        return paste
    return replace(paste, settings=tuple(setting for setting in paste.settings if setting.command not in others))


def _serves_another(paste: Paste, command: Command, number: int, engines: tuple[str, ...]) -> bool:
    """Whether an engine is started for a model that no other command names."""
    if not _starts(_words(command), engines):
        return False
    values = {setting.value for setting in paste.settings if setting.command == number}
    served = {word for word in (*command.words, *values) if _MODEL.search(word)}
    others = {setting.value for setting in paste.settings if setting.command != number}
    return bool(served) and served.isdisjoint(others)


def read_trains(
    paste: Paste, framework: Framework | None, engines: tuple[str, ...], stated: Mapping[str, Fact]
) -> dict[str, Fact]:
    """That nothing is trained, where all commands do something else and nothing speaks of a training; an engine is then a server.

    An engine may answer for a training whose command is not in the paste: what names an algorithm speaks of one. ``engines`` are the
    commands of those that serve anybody.
    """
    if any(id in stated for id in _OF_TRAINING):
        return {}
    served = () if "algo" in stated else (*engines, *(framework.detect.serves if framework else ()))
    idle_of = framework.detect.idle if framework else ()
    lines = {line.number: line for line in paste.lines}
    started = [(_words(command), lines.get(command.first_line)) for command in paste.commands]
    started += [(f"{found['program']} ", line) for line in paste.lines if (found := _SHORT.match(line.words))]
    if any(_trains(words, framework, engines) for words, _ in started):
        return {}
    idle = next(((words, line) for words, line in started if _starts(words, (*idle_of, *served))), None)
    if idle is None:
        return {}
    told = {"trains": _fact(*idle)}
    if _starts(idle[0], served):
        told["rollout_mode"] = Fact("rollout_mode", "server", "derived", why="the command starts an engine alone")
    return told


def _fact(words: str, line: Line | None) -> Fact:
    span = Span(line.number, 0, len(line.text)) if line else None
    return Fact("trains", False, "read", written=words.strip(), span=span)


def _trains(words: str, framework: Framework | None, engines: tuple[str, ...]) -> bool:
    """A command of the framework, or a script of one's own, that neither infers nor serves."""
    if framework is None:
        return ".py " in words and not _starts(words, engines)
    marks = framework.detect
    others = (*marks.idle, *marks.serves, *engines)
    return (".py " in words or _starts(words, marks.commands)) and not _starts(words, others)


def _words(command: Command) -> str:
    return " ".join(command.words) + " "


def _starts(words: str, literals: tuple[str, ...]) -> bool:
    return any(literal in words for literal in literals)
