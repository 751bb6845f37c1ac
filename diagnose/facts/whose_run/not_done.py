"""What nobody did yet: “did not try: lora, 8bit adam”, “should I set micro_batch=1? Currently 8” tell no setting of the run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from diagnose.facts.failing.advised import without_advice
from diagnose.facts.failing.said import FAILURE
from diagnose.facts.sentences.prose import one_of_several
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
    r"|要不要|是不是(?:[应要该得]|需要|得)|需不需要|是否(?:需要|要|应)|还是说?(?:需?要|应该|得)|能不能|可不可以"
    r"|应不应该)[^.?!。？！\n]{0,60}$",
    re.I | re.A,
)
# “would key 1 help?”
_WOULD = re.compile(
    r"(?:^|[.,;:，。；：]\s*)(?:(?:and|but|so)\s+)?(?:would|will|could|can|does)\s+(?:setting\s+|using\s+)?[\w.\-]{0,80}\s?=?\s?$",
    re.I | re.A,
)
# these ask without any mark
_A_NOT_A = re.compile(r"要不要|是不是|需不需要|能不能|可不可以|应不应该", re.A)
_MOST_RANK = 1024
_ADAPTERS = re.compile(r"lora|dora|peft|adapter|\brank\b|低秩|适配", re.I | re.A)
# “key 4 可以吗”, “is key 4 supported?”: nobody asks so of what is set already
_MAY = re.compile(
    r"[\"'`）)]?\s?(?:的话)?\s?(?:可以吗|可以么|可行吗|行吗|行不行|可不可以|能不能(?:行|跑)?|能行吗|有用吗|有没有用|有帮助吗|会(?:不会)?(?:好|有用)[吗点]?)"
    r"|[\"'`)]?\s(?:supported|possible|an option|worth (?:it|a try)|allowed)\b[^.!?\n]{0,40}\?",
    re.I | re.A,
)
_IS_SET = re.compile(
    r"(?:[现目]在|已经?|当前|我的?)[用是设开][^，。；,;\n]{0,40}$|\b(?:i|we)(?: already)? (?:use|set|have)\b[^.,;\n]{0,40}$",
    re.I | re.A,
)
_QUESTION = re.compile(r"[^.!。！\n]{0,60}?[?？]|[^.!。！\n]{0,60}?吗", re.A)
# what stands over a list of what nobody did yet
_PLANS = re.compile(
    r"(?:\b(?:(?:have|had|has|did)(?:n['’]t| not)|not|never)\b[^.?\n]{0,20}\b(?:tried|try|tested)\b"
    r"|\b(?:things?|what|ideas?|options?|plan\w*|want)\b"
    r"[^.?\n]{0,12}\bto (?:try|test)|\b(?:next steps?|todo|ideas|suggestions?|could try|can try|should try)\b"
    r"|(?:还没|没有?|未)[^。？\n]{0,4}试|(?:打算|准备|计划|建议|可以|接下来|下一步)[^。？\n]{0,8}(?:试|尝试|做)?"
    r"|\b(?:could|can|should) try the\b)[^.。?？\n]{0,12}[:：]\s*$",
    re.I | re.A,
)
LIST_ITEM = re.compile(r"\s*(?:[-*•+·]|\(?\d{1,2}[.)、])\s*\S", re.A)


def heads_plans(words: str) -> bool:
    """Whether a line announces a list of what nobody did yet."""
    return bool(_PLANS.search(words))


def without_plans(speech: Sequence[Line]) -> tuple[Line, ...]:
    """The lines without the items of such a list."""
    kept: list[Line] = []
    planned = False
    for line in speech:
        planned = heads_plans(line.words) or (planned and bool(LIST_ITEM.match(line.words)))
        if not (planned and LIST_ITEM.match(line.words)):
            kept.append(line)
    return tuple(kept)


def without_planned(paste: Paste, speech: Sequence[Line], kept: Sequence[Line]) -> Paste:
    """The paste without the settings of such items, which ``kept`` lacks and ``speech`` has, where the text tells a failure."""
    items = {line.number for line in speech} - {line.number for line in kept}
    if not items or not any(FAILURE.search(without_advice(line.words)) for line in kept):
        return paste
    return replace(
        paste, settings=tuple(one for one in paste.settings if one.command >= 0 or one.span.line not in items)
    )


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


def without_letters(paste: Paste) -> Paste:
    """The paste without “p=512 r=2048”, which are lengths where nothing speaks of the adapters whose rank such a letter is."""
    letters = [one for one in paste.settings if one.key in ("p", "r") and one.command < 0 and one.value.isdigit()]
    lengths = {one.key for one in letters} == {"p", "r"} or any(int(one.value) > _MOST_RANK for one in letters)
    if not lengths or any(_ADAPTERS.search(line.words) for line in paste.lines):
        return paste
    return replace(paste, settings=tuple(one for one in paste.settings if one not in letters))


def _is_asked(setting: Setting, line: Line) -> bool:
    start, end = setting.span.start - line.offset, setting.span.end - line.offset
    before = line.words[: max(start, 0)]
    asks = _ASKED.search(before) or _WOULD.search(before[-120:])
    several = one_of_several(line.words, max(end, 0))
    may = _MAY.match(line.words, max(end, 0)) and not _IS_SET.search(before)
    marked = asks and (_A_NOT_A.search(asks.group()) or _QUESTION.match(line.words, max(end, 0)))
    return bool(several or may or marked)
