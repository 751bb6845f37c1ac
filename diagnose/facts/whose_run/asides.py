"""Settings that a sentence gives to no run of today: “earlier with a=1”, “the docs use a=1”, “you can set a=1”.

The run that failed has the value that stands elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from diagnose.facts.failing.said import FAILURE
from diagnose.facts.whose_run.told_to import around, is_told_to
from diagnose.ingest.helped import helped
from diagnose.types import Line, Paste, Setting

_STOP = re.compile(r"[。；;！？!?\n]|(?<=[\w)\]`'\"%])\.(?=\s)", re.A)
_OWN = r"\b(?:i|i['’](?:m|ve)|we|my|our)\b|我|咱"
# what is written for everybody, and says so
_DOCUMENT = re.compile(
    r"\b(?:docs?|documentation|readme|tutorial|guide|blog(?: ?post)?|paper|page|examples?|notebook)\b[^.\n]{0,40}?"
    r"\b(?:says?|said|uses?|used|shows?|recommends?|suggests?|mentions?|there (?:is|are))\b"
    r"|(?:文档|教程|示例|例子|官方|论文)[^，。；\n]{0,12}?(?:写的?是|写着|说|用的?是|推荐|建议|默认)",
    re.I | re.A,
)
_FOLLOWED = re.compile(
    rf"\b(?:so|and) (?:i|we)\b|\b(?:i|we) (?:did|do|follow\w*|use|took|set)\b|{_OWN}[^。\n]{{0,6}}(?:照|按|也)",
    re.I | re.A,
)
_BEFORE = re.compile(
    r"(?:^|[.;,(（，。；:：]\s*)(?:(?:and|but|it|that)\s+)?"
    r"(?:earlier|previously|before|originally|initially|at first|last (?:week|month|time)|yesterday"
    r"|之前|原来|以前|原先|最早|一开始|最初|上次|昨天)[^.;。；\n]{0,40}$",
    re.I | re.A,
)
_TODAY = re.compile(r"\b(?:now|today|currently|after that)\b|现在|目前|后来|如今", re.I | re.A)
# what somebody else or a later try brought
_PAST_IT = re.compile(
    r"^[^.;。；\n]{0,60}?\b(?:(?:got|gets|brought) (?:me|us|it) (?:past|through|over)|runs? now|(?:is|['’]s) running now)\b",
    re.I | re.A,
)


def without_asides(paste: Paste, speech: Sequence[Line]) -> tuple[Paste, tuple[Line, ...]]:
    """The paste and its speech without such settings; one of another time stays where the same key has no other value."""
    lines = {line.number: line for line in speech}
    told = [one for one in paste.settings if one.command < 0 and one.span.line in lines]
    places = {id(one): around(one, lines[one.span.line]) for one in told}
    written = {number for number, place in places.items() if _of_a_document(*place) or is_told_to(*place)}
    past = {number for number, place in places.items() if _of_another_time(*place)}
    if not written and not past:
        return paste, tuple(speech)
    others = {one.key for one in paste.settings if id(one) not in written | past}
    left = written | {id(one) for one in told if id(one) in past and one.key in others}
    gone = [one for one in told if id(one) in left]
    kept = tuple(one for one in paste.settings if id(one) not in left)
    return replace(paste, settings=kept), tuple(_blanked(line, gone) for line in speech)


def _blanked(line: Line, gone: Sequence[Setting]) -> Line:
    """The line with blanks in the place of the values that are gone, and of switches that have none."""
    words = line.words
    for one in gone:
        if one.span.line == line.number:
            start, end = one.span.start - line.offset, one.span.end - line.offset
            start = start if start < end or not words[:end].endswith(one.key) else end - len(one.key)
            words = words[:start] + " " * (end - start) + words[end:]
    return line if words == line.words else replace(line, words=words)


def _of_a_document(before: str, behind: str) -> bool:
    found = _DOCUMENT.search(before)
    if found is None or re.search(_OWN, before, re.I | re.A):
        return False
    return not _FOLLOWED.search(_sentence(behind))


def _of_another_time(before: str, behind: str) -> bool:
    if _BEFORE.search(before):
        return bool(_TODAY.search(behind)) or not FAILURE.search(behind)
    sentence = _sentence(behind)
    return bool(helped(behind) or _PAST_IT.search(behind)) and not FAILURE.search(sentence)


def _sentence(words: str) -> str:
    end = _STOP.search(f"0{words}")  # behind a value a dot ends the sentence
    return words[: max(end.start() - 1, 0)] if end else words
