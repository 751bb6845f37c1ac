"""Settings of which somebody says that they ended the failure: “fixed by a=1”, “加上 a=1 就好了”. The run that failed has none.

Where a failure is told behind the sentence, it is of a run that has them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from diagnose.facts.failing.said import FAILURE
from diagnose.facts.whose_run.told_to import around, without_told_to
from diagnose.types import Paste

_NOT = r"(?<!not )(?<!n['’]t )(?<!never )(?<!not been )"
_ENDED = r"(?:fixed|solved|resolved|cured)"
_DO = (
    r"(?:(?:i|we|it|just|simply|only|explicitly|then|also|now)\s+){0,3}"
    r"(?:(?:set(?:ting)?|us(?:e|ing)|add(?:ing)?|pass(?:ing)?|enabl(?:e|ing)|disabl(?:e|ing)|chang(?:e|ing)|turn(?:ing)? on"
    r"|lower(?:ing)?|reduc(?:e|ing)|rais(?:e|ing)|increas(?:e|ing)|specify(?:ing)?)\s+)?"
)
_NAME = r"[^.;。；\n]{0,40}?"  # of this setting, or of one that stands before it
# before the name of the setting
_BEFORE = re.compile(
    rf"{_NOT}\b{_ENDED}(?:\s+(?:it|this|that|now|the \w+|myself))?\s+(?:by|with|via|after|when|once|using)\s+{_DO}{_NAME}$"
    rf"|(?:^|\W)(?:solution|fix|workaround|{_ENDED})(?:\s+(?:for me|here|finally|in the end))?"
    rf"\s*(?:[:：]|\b(?:is|was)(?: to)?\b)\s*{_DO}{_NAME}$"
    rf"|\bno (?:more )?(?:cuda |gpu )?OOMs? (?:with|after|when|once|using)\s+{_DO}[`'\"]?$"
    rf"|{_NOT}\b(?:works|runs|trains|fits|survives)(?: (?:fine|now|ok|well|for me))?\s+(?:with|after|when|once)\s+{_DO}[`'\"]?$"
    r"|(?<![没未])(?<!没有)(?<!怎么)(?<!如何)(?:解决(?:了|办法|方法|方案)?|修复)(?:是|为)?\s*[:：]\s*[^。；\n]{0,24}?$",
    re.I | re.A,
)
# behind its value: that the failure went …
_BEHIND = re.compile(
    rf"^[`'\"]?\s*(?:(?:has|have|finally|indeed|actually|also|that|which|it|and|,)\s*){{0,4}}(?:{_ENDED}|fixes|solves|did the trick)\b"
    r"|^[`'\"]?\s*(?:avoids|prevents) (?:the |any |all )?(?:(?:cuda |gpu )?OOMs?\b|out of memory)"
    r"|^[`'\"]?\s*(?:makes|made|lets|let) it (?:run|work|fit|go through)\b"
    r"|^[`'\"]?\s*(?:之?后)?\s*(?:问题|就|也|终于|可以){0,2}\s*(?:解决了?(?![不吗])|好了|不(?:再|会)?\s*(?:OOM|爆|报错)了)",
    re.I | re.A,
)
# … or that it runs, which tells of a cure where something was changed
_RUNS = re.compile(
    r"^[`'\"]?\s*,?\s*(?:and\s+)?(?:now\s+)?(?:it|everything|training|the run)\s+(?:now\s+)?(?:works|runs|trains|fits|survives)\b"
    r"|^[`'\"]?\s*(?:之?后)?\s*就?(?:可以了|可以跑了?|能跑了?|跑通了)",
    re.I | re.A,
)
_CHANGE = re.compile(
    r"\b(?:after|with|using|set(?:ting)?|add(?:ing|ed)?|pass(?:ing|ed)?|enabl(?:ing|ed)|disabl(?:ing|ed)|chang(?:ing|ed)|lower(?:ing|ed)"
    r"|reduc(?:ing|ed)|rais(?:ing|ed)|increas(?:ing|ed)|specif(?:ying|ied))\b|加[上了]|改[成为]|设[成为置]|换成",
    re.I | re.A,
)
# who asks, tells for how long, or goes on
_OPEN = re.compile(
    r"[?？]|\b(?:but|however|until|then|still|would|should|could|might|hope)\b|\bfor \d|吗|但|可是|不过|然后|是否|能否",
    re.I | re.A,
)
_STOP = re.compile(r"[。；;！!]|\.(?=\s|$)", re.A)


def as_it_failed(paste: Paste) -> Paste:
    """The paste without settings that the run which failed did not have: a change starts from none of them."""
    return without_cure(without_told_to(paste))


def without_cure(paste: Paste) -> Paste:
    """The paste without such settings; a run of which a failure is told behind them has them."""
    lines = {line.number: line for line in paste.lines}
    loose = [one for one in paste.settings if one.command < 0 and one.span.line in lines]
    cures = [one for one in loose if _cures(*around(one, lines[one.span.line]))]
    if not cures:
        return paste
    own = {one.span.line for one in cures}
    last = max((no for no, line in lines.items() if no not in own and FAILURE.search(line.words)), default=0)
    gone = {id(one) for one in cures if one.span.line > last}
    return replace(paste, settings=tuple(one for one in paste.settings if id(one) not in gone))


def _cures(before: str, behind: str) -> bool:
    """By the words of the sentence before the key and of that behind its value, where they tell no failure and no further trouble."""
    end = _STOP.search(behind)
    rest = behind[: end.start()] if end else behind
    if _OPEN.search(rest):
        return False
    went = _BEHIND.search(rest) or (_RUNS.search(rest) if _CHANGE.search(before) else None)
    if went is None and not _BEFORE.search(before):
        return False
    return FAILURE.search(rest, went.end() if went else 0) is None
