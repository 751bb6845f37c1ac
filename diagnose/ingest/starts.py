"""Whether words at the start of a line begin a launch command."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnose.ingest.arguments import LAUNCHER, is_argument, is_override
from diagnose.ingest.lines import Row
from diagnose.ingest.shell import Token

_SCRIPT_RUNNER = re.compile(r"(?:\S{0,200}/)?(?:bash|sh|source|zsh|\.)$", re.A)
_BEFORE_LAUNCHER = frozenset({"nohup", "sudo", "time", "env", "exec", "uv", "run", "poetry", "export", "-E", "numactl"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=", re.A)
_SHORT_FLAG = re.compile(r"-[A-Za-z]{1,3}$", re.A)
_PARALLEL = re.compile(r"-[a-z]{2,3}$", re.A)  # -tp 4, of an engine; a single letter is some tool's
_NAME = re.compile(r"[a-z./$][\w./${}-]*$", re.A)
_TARGET = re.compile(r"-|launch$|.*\.(?:py|sh)$|.*[/$]", re.A)
_SENTENCE = re.compile(r".*[,!?]$|[A-Za-z]{2,}\.$", re.A)
# with which people begin a sentence, and nobody a command
_SPEAKS = frozenset("you i we it they this please try tried use using add adding with also just then but and".split())  # noqa: SIM905
_WRAPPED = 12  # words of a scheduler's own before the program


def starts_command(found: Sequence[Token], more: bool, after: Sequence[Row]) -> bool:
    """``more``: the row goes on. ``after``: the row behind, which may go on with flags although the backslash is lost."""
    words = [token.text for token in found]
    at = 0
    while at < len(words) and (_ASSIGNMENT.match(words[at]) or words[at] in _BEFORE_LAUNCHER):
        at += 1
    if at == len(words):
        return more and at > 0 and not is_argument(words[0])
    rest = words[at:]
    if words[at - 1 : at] == ["run"] and rest[0][0] == "-":  # options of the runner stand before the program
        return any(word == "-m" or LAUNCHER.match(word) or word.endswith(".py") for word in rest[:12])
    if (handed := _hands_on(rest) or _runs_file(words[:at], rest)) or LAUNCHER.match(rest[0]):
        return handed or any(_TARGET.match(word) for word in rest[1:4]) or (more and len(rest) == 1)
    if _SCRIPT_RUNNER.match(rest[0]):
        return any(".sh" in word for word in rest[1:3])
    if is_argument(rest[0]) or not _NAME.match(rest[0]) or rest[0].endswith("=") or rest[0] in _SPEAKS:
        return False
    flags = [place for place, word in enumerate(rest) if word.startswith("--") and len(word) > 2]
    short = next((place for place, word in enumerate(rest) if _SHORT_FLAG.match(word)), len(rest))
    numbered = [at for at, word in enumerate(rest[:-1]) if _PARALLEL.match(word) and rest[at + 1].isdecimal()]
    plain = rest[: min([*flags[:1], short])] if flags or numbered else rest
    # “host has 1TB free -h says 870G. docker run --gpus all --memory 96g”: a command is only told of
    told = any(_SENTENCE.match(word) for word in rest[short : flags[0]]) if flags else False
    if (
        told
        or len(plain) > 4
        or not all(word.isascii() and (_NAME.match(word) or word[0] in "-0123456789" or "/" in word) for word in plain)
    ):
        return False
    if numbered and (flags or (numbered[-1] == len(rest) - 2 and any("/" in word for word in plain))):
        return True
    if not flags:
        return more
    overrides = sum(is_override(word) for word in rest[flags[0] :])
    return more or len(flags) + overrides >= 2 or any(next.words.lstrip()[:2] == "--" for next in after)


def _hands_on(words: Sequence[str]) -> bool:
    """Whether a program is handed to a scheduler: ray job submit -- python3 train.py."""
    program = words[words.index("--") + 1 :] if "--" in words[1:_WRAPPED] else ()
    runs = bool(program) and LAUNCHER.match(program[0]) is not None
    return runs and any(word != "--" and _TARGET.match(word) for word in program[1:4])


def _runs_file(before: Sequence[str], rest: Sequence[str]) -> bool:
    """Whether a runner starts a script by itself, with settings behind it: uv run train.py a.b=c."""
    settings = any(is_override(word) or is_argument(word) for word in rest[1:])
    return before[-1:] == ["run"] and rest[0].endswith(".py") and settings
