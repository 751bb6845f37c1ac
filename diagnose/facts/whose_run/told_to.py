"""Settings that somebody tells the writer to make: “you can set --a 1”, “回复：可以设置 --a 1”. The run that failed has none."""

from __future__ import annotations

import re
from dataclasses import replace

from diagnose.facts.failing.said import FAILURE
from diagnose.types import Line, Paste, Setting

_NEAR = 160  # characters before a value in which its sentence begins
_STOP = re.compile(r"[。；;！？!?\n]|(?<=[\w)\]`'\"%])\.(?=\s)", re.A)
_NAME = r"(?:[`'\"]?(?:--)?[\w.]*$|[`'\"]?--\w[^。；\n]*$)"  # of this setting, or of one that stands before it
_DO = (
    r"(?:set|setting|use|using|add|adding|pass|passing|try|trying|specify|enabl\w+|disabl\w+|turn\w* (?:on|off)|lower\w*|reduc\w*|rais\w*"
    r"|increas\w*)\b"
)
_DO_ZH = (
    r"(?:设置?[为成]?|添加|加[上个]?|使?用|开启|打开|关[掉闭]?|指定|传入?|试试?|调[小大低高]|降低|减小|增大|改[成为]?)"
)
_TOLD_TO = re.compile(
    r"(?:\byou (?:can|could|should|may|might|need(?: to)?|have to|must)(?: also| just| simply| then)?|\bplease"
    r"|\b(?:i|we)(?:['’]d| would)? (?:suggest|recommend)|\b(?:suggested|recommended)\b"
    r"|\b(?:maintainer|author|developer|dev|member|collaborator|contributor|reply|answer)s?\s?[:：](?: you)?(?: can| could)?(?: please)?)"
    rf"\s+(?:to )?(?:try (?:to )?)?{_DO}[^.:;。：；\n]{{0,24}}?{_NAME}"
    rf"|\byou (?:should |must )?(?:need|have)\s+(?:both\s+|the\s+)?{_NAME}"
    r"|(?:可以?|建议|请|最好|不妨|(?:答|回复|回答|解答|官方|作者|维护者)\s*[:：]"
    rf"|^\s*@[\w-]{{2,39}}\s?[:：]?)(?:您|你|再|先|也|把|将|尝试|试着|考虑|一下){{0,3}}"
    rf"\s*{_DO_ZH}[^。：；，\n]{{0,16}}?(?:[:：]\s?)?{_NAME}",
    re.I | re.A,
)
_DONE = re.compile(
    r"\b(?:so|and|which|then) (?:i|we)\b|\b(?:i|we) (?:did|do|follow\w*|use|took|set)\b|(?:我|咱)[^。\n]{0,6}(?:照|按|也|用|设|加|试)"
    r"|后[^。\n]{0,6}(?:还|仍|依然|也)",
    re.I | re.A,
)


def is_told_to(before: str, behind: str) -> bool:
    """By the words of the sentence before a key and those of the line behind its value: unless it was done, or failed all the same."""
    end = _STOP.search(f"0{behind}")  # behind a value a dot ends the sentence
    rest = behind[: max(end.start() - 1, 0)] if end else behind
    return bool(_TOLD_TO.search(before)) and not (_DONE.search(rest) or FAILURE.search(rest))


def around(setting: Setting, line: Line) -> tuple[str, str]:
    """The words of the sentence before the key, and those of the line behind the value."""
    start, end = setting.span.start - line.offset, setting.span.end - line.offset
    if not 0 <= start <= end <= len(line.words):  # a switch alone has no value
        return "", ""
    before = line.words[max(0, start - len(setting.key) - _NEAR) : start]
    before = before[: max(before.rfind(setting.key), 0)]
    stops = [found.end() for found in _STOP.finditer(before)]
    return before[stops[-1] if stops else 0 :], line.words[end:]


def without_told_to(paste: Paste) -> Paste:
    """The paste without such settings, which a change starts from no more than the run does."""
    lines = {line.number: line for line in paste.lines}
    loose = [one for one in paste.settings if one.command < 0 and one.span.line in lines]
    told = {id(one) for one in loose if is_told_to(*around(one, lines[one.span.line]))}
    if not told:
        return paste
    return replace(paste, settings=tuple(one for one in paste.settings if id(one) not in told))
