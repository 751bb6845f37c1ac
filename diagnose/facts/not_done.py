"""What nobody did yet: “did not try: lora, 8bit adam”, “should I set micro_batch=1? Currently 8” tell no setting of the run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from diagnose.facts.advised import without_advice
from diagnose.facts.said import FAILURE
from diagnose.types import Line, Paste, Setting

_NOT_TRIED = re.compile(
    r"(?:\b(?:(?:did|have|had|has)(?:n['’]t| not)|never)\s+(?:yet\s+|even\s+)?(?:try|tried|test(?:ed)?)(?:\s+yet)?"
    r"|\bnot (?:yet )?tried(?: yet)?|(?<![有])(?:还没有?|没有?|未)\s*(?:尝)?试过?的?)",
    re.I | re.A,
)
# what was not tried: a list behind a colon, else up to the next mark
_LIST = re.compile(r"\s*[:：]\s*(?P<what>[^.;。；\n]{1,120})", re.A)
_ONE = re.compile(r"\s*(?P<what>[^.,;:，。；：\n]{1,60})", re.A)
_ASKED = re.compile(
    r"(?:\b(?:should|shall|can|could|may|must|would)\s+(?:i|we|it|that|setting)\b|\bdo (?:i|we) need\b|\bwhat if\b"
    r"|要不要|是不是[应要该]|能不能|可不可以"
    r"|应不应该)[^.?!。？！\n]{0,60}$",
    re.I | re.A,
)
_QUESTION = re.compile(r"[^.!。！\n]{0,60}?[?？]|[^.!。！\n]{0,60}?吗", re.A)


def without_untried(line: Line) -> Line:
    """The line with blanks for what the person says was not tried."""
    words = line.words
    for found in _NOT_TRIED.finditer(words):
        if what := _LIST.match(words, found.end()) or _ONE.match(words, found.end()):
            start, end = what.span("what")
            words = words[:start] + " " * (end - start) + words[end:]
    return line if words == line.words else replace(line, words=words)


def without_asked(paste: Paste, speech: Sequence[Line]) -> Paste:
    """The paste without the settings that a sentence asks about, where the text tells a failure: those of the run are others."""
    lines = {line.number: line for line in speech}
    asked = [
        one for one in paste.settings if one.command < 0 and (line := lines.get(one.span.line)) and _is_asked(one, line)
    ]
    if not asked or not any(FAILURE.search(without_advice(line.words)) for line in speech):
        return paste
    return replace(paste, settings=tuple(one for one in paste.settings if one not in asked))


def _is_asked(setting: Setting, line: Line) -> bool:
    start, end = setting.span.start - line.offset, setting.span.end - line.offset
    return bool(_ASKED.search(line.words[: max(start, 0)]) and _QUESTION.match(line.words, max(end, 0)))
