"""Whether the whole of a script is pasted that loads a model and trains it itself: what it never turns on is off then.

Not where it takes settings from a command that is not pasted, or hands the model to code that stands elsewhere.
"""

from __future__ import annotations

import re

from diagnose.facts.settings.complete import LEFT_OUT, says_part
from diagnose.types import Paste

_IMPORTS = re.compile(r"(?:import|from)\s+[A-Za-z_]\w*", re.A)
_LOADS = re.compile(r"(?<!Tokenizer)(?<!TokenizerFast)(?<!Processor)(?<!Config)\.from_pretrained\(", re.A)
_STEPS = re.compile(r"\.backward\(", re.A)
_MAKES = re.compile(r"(?<![A-Za-z_])(?:Seq2Seq)?Trainer\(", re.A)
_STARTS = re.compile(r"\.train\(", re.A)
# its settings come from elsewhere: from a command, if that is pasted
_CALLED = re.compile(r"\bparse_args(?:_into_dataclasses|_and_config)?\(|\bHfArgumentParser\(|\bsys\.argv\b", re.A)
_UNPACKED = re.compile(r"Arguments\(\s*\*\*|\*\*(?:cfg|config|args|kwargs)\b", re.A)


def own_script(paste: Paste) -> bool:
    """Whether the text holds such a script to its end, with the command where its settings come from one."""
    if "from_pretrained(" not in paste.text:
        return False
    lines = [line.words for line in paste.lines]
    if says_part(paste) or any(LEFT_OUT.match(words) for words in lines) or _shortened(paste):
        return False
    if not _holds(lines, _LOADS) or not any(_IMPORTS.match(line.text) for line in paste.lines):
        return False
    if not _holds(lines, _STEPS) and not (_holds(lines, _MAKES) and _holds(lines, _STARTS)):
        return False
    return not _holds(lines, _UNPACKED) and (bool(paste.commands) or not _holds(lines, _CALLED))


def _shortened(paste: Paste) -> bool:
    """Whether lines of a long text were left out of what is read."""
    numbers = [line.number for line in paste.lines]
    return any("⋯" in line.text[:3] for line in paste.lines) or numbers != list(range(1, len(numbers) + 1))


def _holds(lines: list[str], form: re.Pattern[str]) -> bool:
    return any(form.search(words) for words in lines if words.lstrip()[:1] != "#")
