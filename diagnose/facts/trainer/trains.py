"""Whether the commands of a paste train anything, and which settings belong to those that do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from diagnose.facts.failing.judges import served
from diagnose.facts.sentences.prose import whole_line
from diagnose.facts.trainer.idle import idle_code, names_idle_script, task_of, told
from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Framework
from diagnose.types import Command, Fact, Line, Paste

# a command of one line with a flag or a file at most, which is read as no command since sentences look alike
_SHORT = re.compile(
    r"\s*(?:[$>] )?(?:[A-Z_]+=\S+ )*(?P<program>[a-z][\w./-]*(?: [\w./-]+){0,2}?) (?:--?\w|\S+\.(?:ya?ml|json)\b)", re.A
)
# of these, the ones that look at a machine or fetch what a script needs start neither a training nor anything else
_LOOKS = re.compile(
    r"(?:free|df|du|ls|cat|top|htop|dmesg|watch|(?:nvidia|rocm|npu)-smi|(?:uv )?pip3?|conda install|git|wget|curl)\b",
    re.A,
)

_MODEL = re.compile(r"\w/\w", re.A)  # a name with its owner, or a path
_ONLY_TRAINED = (
    "algo",
    "full_or_lora",
    "lora_rank",
    "lora_layers",
    "has_ref",
    "dynamic_batch",
    "packed_rows",
    "double_quant",
    "train_batch_size",
    "step",
    "steps_passed",
)
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
    paste: Paste,
    speech: Sequence[Line],
    framework: Framework | None,
    knowledge: Knowledge,
    stated: Mapping[str, Fact],
) -> dict[str, Fact]:
    """That nothing is trained, where all commands do something else and nothing speaks of a training; an engine is then a server.

    An engine may answer for a training whose command is not in the paste: what names an algorithm speaks of one.
    """
    if any(id in stated and not _of_idle(stated[id], paste, knowledge.idle) for id in _OF_TRAINING):
        return {}
    if judge := served(paste):
        return judge
    engines = knowledge.engines
    serving = () if "algo" in stated else (*engines, *(framework.detect.serves if framework else ()))
    idle_of = (*knowledge.idle, *(framework.detect.idle if framework else ()))
    started = _started(paste, knowledge.idle)
    if any(_trains(words, framework, (*engines, *knowledge.idle)) for words, _, _ in started):
        return {}
    for words, line, number in started:
        if _starts(words, serving):
            return _fact(words, line, "infer") | {
                "rollout_mode": Fact("rollout_mode", "server", "derived", why="the command starts an engine alone")
            }
        if _starts(words, idle_of) or names_idle_script(words):
            keys = [setting.key for setting in paste.settings if setting.command == number]
            return _fact(words, line, task_of(words, keys))
    return {} if started else idle_code(paste, speech, stated)


def _started(paste: Paste, idle: tuple[str, ...]) -> list[tuple[str, Line | None, int]]:
    """What is started: the words, the line, and the number of the command, -1 for one that is read as none."""
    lines = {line.number: line for line in paste.lines}
    started = [
        (_words(command), lines.get(command.first_line), number) for number, command in enumerate(paste.commands)
    ]
    started += [
        (f"{found['program']} ", line, -1)
        for line in paste.lines
        if (found := _SHORT.match(line.words)) and not _LOOKS.match(found["program"])
    ]
    started += [
        (f"{line.words.lstrip('$> ')} ", line, -1) for line in paste.lines if line.words.lstrip("$> ").startswith(idle)
    ]
    return started


def _of_idle(fact: Fact, paste: Paste, idle: tuple[str, ...]) -> bool:
    """Whether the setting stands in a command of anybody's that trains nothing: its batch is none of a training."""
    number = fact.span.line if fact.span else 0
    line = paste.line(number)
    return line is not None and _starts(f"{line.words.lstrip('$> ')} ", idle)


def without_training(stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """The facts of a run without what only a training has: keys and defaults of one tell nothing here."""
    if "trains" not in stated or stated["trains"].value is not False:
        return dict(stated)
    dropped = set(_ONLY_TRAINED)
    if "task" in stated and stated["task"].value == "quantize":
        dropped.add("quantization")  # what it will be, not what is loaded
    if "rollout_mode" not in stated and "phase" in stated and stated["phase"].value not in ("load", "init"):
        dropped.add("phase")
    return {id: fact for id, fact in stated.items() if id not in dropped or fact.origin == "answered"}


def _fact(words: str, line: Line | None, task: str) -> dict[str, Fact]:
    return told(task, words.strip(), whole_line(line) if line else None)


def _trains(words: str, framework: Framework | None, idle: tuple[str, ...]) -> bool:
    """A command of the framework, or a script of one's own, that neither infers nor serves."""
    if framework is None:
        return ".py " in words and not _starts(words, idle) and not names_idle_script(words)
    marks = framework.detect
    others = (*marks.idle, *marks.serves, *idle)
    script = ".py " in words and not names_idle_script(words)
    return (script or _starts(words, marks.commands)) and not _starts(words, others)


def _words(command: Command) -> str:
    return " ".join(command.words) + " "


def _starts(words: str, literals: tuple[str, ...]) -> bool:
    return any(literal in words for literal in literals)
