"""Whose run words tell of: “the paper used 64 H100s”, “issue #512 has it with 70B”, “would 16 A100 help?” tell nothing of one’s own."""

from __future__ import annotations

import re

from diagnose.facts.failing.said import FAILURE

_OF_OTHERS = re.compile(
    r"\b(?:issue|thread|discussion|PR)\s*#?\d+\b"
    r"|\b(?:papers?|readme|docs?|documentation|blog|authors?|tutorial|they|somebody|someone|others|people"
    r"|(?:my|a|our) (?:colleague|friend)s?)\b"
    r"(?:['’]s?\b|\s+(?:else\s+)?(?:says?|said|used?|uses|claims?|claimed|trains?|trained|ran|runs?|reports?|reported|recommends?|states?|has|have|had|got)\b)"
    r"|(?:别人|同事|朋友|网上|有人|论文|官方|文档|README)[^，。；,;\n]{0,4}(?:说|写|用|跑|给的|推荐|报告)",
    re.I | re.A,
)
_ALIKE = re.compile(r"\bsame as\b|\b(?:just |exactly )?as in the\b|\blike the\b|一样|相同|一致|按照?|照着", re.I | re.A)
_OWN = re.compile(r"\b(?:i|we|mine|ours|(?:my|our)(?! (?:colleague|friend)))\b|我|咱", re.I | re.A)
_SENTENCE_END = re.compile(r"[;。；!?！？\n]|\.(?=\s)", re.A)
_CLAUSE_END = re.compile(r"[,，]", re.A)
_SUPPOSES = re.compile(
    r"\b(?:would|if|help|enough|suffice|solve|better|instead)\b|如果|假如|要是|换成|换到|换用|能解决|够", re.I | re.A
)
_ASKS = re.compile(r"[?？吗么嘛]|会不会|能不能|是否", re.A)
_WISHES = re.compile(r"\bwish\b[^.;,\n]{0,40}$", re.I | re.A)
_ELSEWHERE = re.compile(
    r"\b(?:train(?:ed|ing)?|ran|done|works?|worked)\b[^.;\n]{0,30}?\bon (?:an?other|a different) (?:machine|server|node|box|cluster)\b"
    r"|在(?:另外?一台|别的|其[他它])(?:机器|服务器|集群)?上?(?:做|训练?|跑)(?:好|完)?的",
    re.I | re.A,
)
_BEFORE = 240  # characters that a sentence may begin before the words


def of_others(words: str, at: int) -> bool:
    """Whether the sentence up to this place tells what others have, and nothing of one’s own since, or what one wishes to have."""
    before = words[_start(words, at) : at]
    if _ALIKE.search(before):
        return False
    last = max((found.start() for found in _OF_OTHERS.finditer(before)), default=None)
    return bool(_WISHES.search(before)) or (last is not None and not _OWN.search(before, last + 1))


def of_another_run(words: str, at: int) -> bool:
    """The same, or what went well elsewhere: “training was done on another machine (8xA100), no problem there”."""
    start, end = _start(words, at), _SENTENCE_END.search(words, at)
    told = _ELSEWHERE.search(words, start, at)
    elsewhere = told is not None and not FAILURE.search(words[start : end.end() if end else len(words)])
    return elsewhere or of_others(words, at)


def supposed(words: str, at: int) -> bool:
    """Whether the sentence asks what would be with what stands there, and its clause tells no failure: “8xA100 OOM, would 16 help?”."""
    end = _SENTENCE_END.search(words, at)
    start, stop = _start(words, at), end.end() if end else len(words)
    comma = _CLAUSE_END.search(words, at, stop)
    clause = words[at : comma.start() if comma else stop]
    if FAILURE.search(clause) and not _ASKS.search(clause):
        return False
    return bool(_SUPPOSES.search(words[start:stop]) and _ASKS.search(words[start:stop]))


def _start(words: str, at: int) -> int:
    return max(
        (end.end() for end in _SENTENCE_END.finditer(words, max(0, at - _BEFORE), at)), default=max(0, at - _BEFORE)
    )
