"""A failure of memory that is told as over, by somebody who turns to another: “the OOM of last week is fixed, now it hangs”.

Somebody who only tells what helped had the failure all the same, and the diagnosis is of that one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from diagnose.facts.failing.advised import FAILS, FAILS_ZH
from diagnose.types import Line, Paste

_MENTION = re.compile(
    rf"{FAILS}|{FAILS_ZH}|\b(?:gpu |cuda |host |cpu )?memory (?:problem|issue|leak|error)s?\b|\btried to allocate\b"
    r"|[显内]存(?:泄漏|泄露|问题)",
    re.I | re.A,
)
_OVER = re.compile(
    r"(?<!not )(?<!n['’]t )(?<!not been )(?<!be )(?<!get )"
    r"\b(?:solved|fixed|resolved|gone|went away|disappeared|vanished|works now|now (?:it )?works|sorted out"
    r"|since then|(?:no (?:problem|issue)s?|none) any ?more|no longer (?:a problem|an issue|happens?))\b"
    r"|\bso (?:i|we) (?:now )?(?:use|set|run|train|went|go|lowered|reduced|switched)\b"
    r"|(?<![没未法能何么待])(?:解决了|解决好|解决掉|已解决|没有了|消失了?|修好了?|修复了|搞定了?|好了|不再)",
    re.I | re.A,
)
# how the next trouble is announced, and not the success of what was done
_SUCCESS = (
    r"(?:works?|runs?|trains?|can|could|fits?|goes|is (?:fine|ok|okay|good|working|running|stable)|everything|all)\b"
)
_TURN = re.compile(
    rf"\b(?:but|and|however),? now\b(?! (?:(?:it|i|we|the \w+) )?{_SUCCESS})|\bnow,? (?:i|we|it|the \w+|there|my \w+)\b(?! {_SUCCESS})"
    rf"|\bnow,? (?:{FAILS}|(?:cuda|gpu|host) )|现在[^，。；\n]{{0,24}}?{FAILS_ZH}"
    rf"|\bsince then,? (?:it|i|we|this|that|there)\b(?! {_SUCCESS})"
    r"|\b(?:new|another|different|other|next|remaining|only|current|second)\s+(?:\w+\s+)?(?:problem|issue|error|question|bug)\b"
    r"|\b(?:problem|issue|error|question) (?:now|left|remaining)\b|\btoday['’]s (?:run|job|error|problem)\b"
    r"|\bbut (?:it )?(?:now )?(?:is|['’]s|runs?|got|trains?)\s(?:\S{1,8}\s){0,2}slow(?:er|ly)?\b|\bspeed (?:it |this )?up\b"
    r"|\bbut\b[^.;\n]{0,30}\b(?:time-?outs?|timed out|nan|hangs?|stuck)\b|(?:但是?|不过|可是?)[^。；\n]{0,12}(?:超时|卡住|卡死|nan)"
    r"|(?:但是?|不过|可是?)[^，。；\n]{0,4}慢|怎么(?:提速|加速)"
    r"|现在(?:的问题|又|却|遇到|碰到|报|卡|出现|变成|有一?个|想问|[^，。；\n]{0,24}(?:报错?|卡[住死]|失败|挂|崩|不涨|慢|nan|错误|问题|hang))"
    r"|(?:但是?|不过|可是?|然后|结果)(?:现在|目前|又)|又(?:遇到|出现|碰到|报|有)|(?:新|另外?一?个|别|其他|下一个|剩下)的?(?:新的?)?问题",
    re.I | re.A,
)
# … or said to be the one that is asked about, wherever in the text
_INSTEAD = re.compile(
    rf"(?<!是)不是\s*(?:因为|由于)?\s*{FAILS_ZH}\s*[，,；;]\s*(?:而?是|就是)"
    rf"|\bnot (?:about |due to )?(?:an? |the )?(?:(?:gpu|cuda) )?{FAILS}[^.?\n]{{0,12}}?[,;:—–-]\s*(?:but|it|just|rather)\b"
    r"|\b(?:error|message|traceback) (?:above|below|at the top) is (?:what|the (?:one|problem|question))\b"
    r"|(?:上面|下面)(?:的|这个)(?:报错|错误|问题)(?:才是|是我)",
    re.I | re.A,
)
# the next trouble is the same one in another place
_AGAIN = re.compile(
    r"\b(?:gets?|hits?|sees?|have|had|got) (?:it|them|the same|one|that)\b|\bit (?:happens|occurs|comes|came|moved)\b"
    r"|\bagain\b|\bstill\b|\bsame\b"
    r"|又(?:来|爆|OOM)|再次|同样|还是|仍",
    re.I | re.A,
)
# who shows what others had: “not my case”, “my problem is another one”
_NOT_MINE = re.compile(
    r"\b(?:not|isn['’]t) my (?:case|problem|issue|error)\b"
    r"|\b(?:my|our) (?:problem|issue|case|error) is (?:an?other|a different|different)\b"
    r"|不是我(?:的|遇到的)(?:问题|情况|报错)|我的(?:问题|情况|报错)(?:不是这个|不一样|不同)",
    re.I | re.A,
)
_FEW = 2  # lines below what is quoted
_NEAR = 160  # characters between the failure and the word that it is over


def without_past(paste: Paste, speech: Sequence[Line]) -> Paste:
    """The paste with dots for every failure that is told as over before another trouble is."""
    whole = {line.number: line for line in paste.lines}
    said = [line for line in speech if line.words == whole[line.number].words]
    instead = next((line for line in said if _INSTEAD.search(line.words)), None)
    told = {
        line.number: kept
        for at, line in enumerate(said)
        if (kept := _without_past(line.words, said[at + 1 :], instead if instead is not line else None))
    }
    if not told:
        return paste
    return replace(paste, lines=tuple(replace(line, words=told.get(line.number, line.words)) for line in paste.lines))


def _without_past(words: str, after: Sequence[Line], instead: Line | None) -> str:
    """The words without what is over; "" where nothing is, or where it comes again. ``instead``: a line that tells what it is about."""
    mentions = list(_MENTION.finditer(words))
    if mentions and (place := _elsewhere(words, after)) is not None:
        return _dotted(words, place)
    over = next((found for found in _OVER.finditer(words) if any(_near(one, found) for one in mentions)), None)
    if over is None:
        return ""
    turn = _TURN.search(words, over.start()) or _INSTEAD.search(words, over.start())
    lines = (*(one for one in after if _TURN.search(one.words)), *([instead] if instead else ()))
    behind = words[turn.start() :] if turn else next((one.words for one in lines), "")
    if not behind or _AGAIN.search(behind):
        return ""
    end = turn.start() if turn else len(words)
    return _dotted(words, end)


def _elsewhere(words: str, after: Sequence[Line]) -> int | None:
    """Up to where the words tell of what others had; None where nobody says so in this line or the next ones."""
    if found := _NOT_MINE.search(words):
        return found.start()
    return len(words) if any(_NOT_MINE.search(line.words) for line in after[:_FEW]) else None


def _dotted(words: str, end: int) -> str:
    """The words with dots for what is told up to the ``end``, and a stop there: what follows is a sentence of its own."""
    past = _MENTION.sub(lambda found: "·" * len(found[0]), words[:end])
    return (past[:-1] + ";" if past[-1:] in tuple(" ,，") else past) + words[end:]


def _near(mention: re.Match[str], over: re.Match[str]) -> bool:
    return -_NEAR < over.start() - mention.end() < _NEAR
