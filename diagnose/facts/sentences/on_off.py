"""Whether words have something on or off: “没有开 zero3”, “use_remove_padding 关了”, “with vllm_enable_sleep enabled”."""

from __future__ import annotations

import re

from diagnose.facts.failing.said import FAILURE
from diagnose.facts.sentences.prose import clause_of

_TO_SWITCH = r"(?:打开|开启|启用|使用|配置|设置|加上|用上|开|用|加|配|设)"
_NOT = r"(?<![开用要能该])(?:没有?|未|不|无)(?:能|敢|想|愿意?|打算|法|法去)?"  # “开不开” asks
_NEAR = 80  # characters
# … right before it is no word of another model than the trained one: “ref param offload on”
OF_ANOTHER = "".join(
    f"(?<!{role}{mark})"
    for role in ("ref", "reference", "critic", "reward", "rm", "参考模型", "奖励模型", "价值模型")
    for mark in (" ", "_", "-", "的", " 的 ")
)
_GOES_WELL = re.compile(
    r"(?<!not )(?<!n['’]t )\b(?:works|worked|fits|runs fine|is fine)\b|能跑|可以跑|跑得[动起]|就不爆|就好了|没问题",
    re.I | re.A,
)
# what holds of one holds of those beside it: “没有开 param_offload 和 optimizer_offload”
_AND = r"(?:\s*(?:和|与|以及|及|、|/|\band\b|\bor\b|\bnor\b)\s*)"
_OTHERS_BEFORE = rf"(?:[\w.-]{{2,60}}{_AND}){{0,3}}"
_OTHERS_AFTER = rf"(?:{_AND}[\w.-]{{2,60}}){{0,3}}"
# names of code, of all of which one word tells: “a_offload/b_offload all True”, “a_offload, b_offload and c_offload are all on”
_ALL_OF_THEM = (
    r"(?:\s*[/,，、&+]\s*(?:and\s+)?(?-i:[A-Za-z]\w*_\w+)|\s+(?:and|和|与)\s+(?-i:[A-Za-z]\w*_\w+)){0,4}"
    r"\s*(?:\b(?:are|is|were)\s+)?(?:\b(?:all|both)\b|都|全部?|均)\s*(?:\bset to\b|[=:：是为])?\s*"
)
ALL_TRUE = rf"{_ALL_OF_THEM}(?:true|on|enabled)\b"
# that it never was on …
_NOT_ON = (
    re.compile(
        rf"(?:{_NOT}(?:再|去|敢)?\s*{_TO_SWITCH}(?:了|过)?"
        r"|\b(?:without(?: any)?|no|not|not (?:using|with|use|enabled?)|never (?:used|enabled)"
        r"|(?:do|did|have|had|is|are|was)(?:n['’]t| not) (?:us(?:e|ed|ing)|enabled?|turn(?:ed)? on|set)))"
        rf"\s*(?:the\s+|a\s+|deepspeed\s*|ds\s*)?{_OTHERS_BEFORE}[`'\"“]?-{{0,2}}$",
        re.I | re.A,
    ),
    # “zero3 没用” is that it did not help
    re.compile(
        rf"^[`'\"”]?{_OTHERS_AFTER}\s*(?:都|也|还|全|一直|暂时|根本|现在|目前|是)*\s*(?:{_NOT}(?:打开|开启|启用|设置|加上|用上|开|加)"
        r"(?![A-Za-z]|\s?(?:[A-Za-z]\w*[ _-])?offload)"
        r"|(?:is|was|are|were)(?:n['’]t| not) (?:on|enabled|used|set)\b|not (?:on|enabled|set)\b)",
        re.I | re.A,
    ),
)
# … and that somebody put it off
_PUT_OFF = (
    re.compile(
        r"(?:关闭|关掉|(?<![有相无开\w])(?<!\w )关了?|禁用|去掉|\b(?:disabl(?:e|ed|ing)|(?:turn|switch)(?:ed|ing)? off))"
        r"了?\s*(?:the\s+|a\s+)?"
        rf"{_OTHERS_BEFORE}[`'\"“]?-{{0,2}}$",
        re.I | re.A,
    ),
    re.compile(
        rf"^[`'\"”]?{_OTHERS_AFTER}\s*(?:都|也|还|全|一直|暂时|是)*\s*(?:关闭|关掉|关着|关了|关(?=\s*(?:[,，、;；.。)）]|$|\w))|禁用"
        r"|(?:is |was |are |were )?(?:turned |switched )?(?:off|disabled)\b|[=:：]\s*(?:false|off)\b)"
        rf"|^[`'\"”]?{_ALL_OF_THEM}(?:false|off|disabled)\b",
        re.I | re.A,
    ),
)
_LEFT_OUT = re.compile(
    r"(?:除了?|除开|除去|\b(?:except|besides|apart from|other than|(?:everything|all|anything) but))\s*(?:the\s+|for\s+)?"
    rf"{_OTHERS_BEFORE}[`'\"“]?-{{0,2}}$",
    re.I | re.A,
)
_ALL_ELSE = re.compile(r"(?:之外|以外|外)?[，,]?\s*(?:其他|其它|别)?的?(?:方法)?(?:我|基本|全)?都(?:已经?)?试", re.A)
_ALL_BEFORE = re.compile(r"\b(?:tried|did|used)\b[^.;\n]{0,20}\b(?:everything|all|anything)\b", re.I | re.A)
_ON_BEFORE = re.compile(
    r"(?:(?<![没不未])(?<!没有)(?:打开|开启|启用|开|加|用上)了|\b(?:with|enabled?|turned on|switched on))\s*"
    rf"{_OTHERS_BEFORE}[`'\"“]?-{{0,2}}$",
    re.I | re.A,
)
_ON_AFTER = re.compile(
    rf"^[`'\"”]?{_OTHERS_AFTER}\s*(?:都|也|已经?|全|是)*\s*(?:(?:打开|开启|启用|开|加|用上|设)(?:了|着|的)"
    r"|(?:is |was |are |were )?(?:already |both )?(?:turned |switched )?(?:on|enabled)\b"
    r"|打?开(?=[，,。;；、\s]|$))"
    rf"|^[`'\"”]?{ALL_TRUE}",
    re.I | re.A,
)


# “was off, turned it on”
_SINCE_ON = re.compile(
    r"[^.;。；\n]{0,32}?(?:[,，]|\bbut|\band|\bthen)\s*(?:i |we |now |then |so )*"
    r"(?:(?:turned|switched|put) (?:it |this |that )?(?:back )?on\b|(?:后来|现在|又|已经?)(?:打?开了|开启了))",
    re.I | re.A,
)

_FINE = re.compile(
    r"(?<!not )(?<!n['’]t )\b(?:works? (?:fine |ok )?(?:with|at)|fine|ok)\b|没问题|能跑|可以跑", re.I | re.A
)


def never_on(words: str, start: int, end: int) -> bool:
    """Whether the words say that what stands from ``start`` to ``end`` was not on: “没有开 zero3”."""
    return _beside(_NOT_ON, words, start, end)


def left_out(words: str, start: int, end: int) -> bool:
    """Whether all else was tried: “除了 offload 都试过了”, “tried everything except offload”."""
    return bool(
        _LEFT_OUT.search(words[max(0, start - _NEAR) : start])
        and (_ALL_ELSE.search(words) or _ALL_BEFORE.search(words))
    )


def switched(words: str, start: int, end: int) -> bool | None:
    """Whether what stands from ``start`` to ``end`` is on, or off; None where the words do not say."""
    if never_on(words, start, end) or _beside(_PUT_OFF, words, start, end):
        return bool(_SINCE_ON.match(words[end : end + _NEAR]))
    return True if _beside((_ON_BEFORE, _ON_AFTER), words, start, end) else None


def goes_well(words: str, found: re.Match[str]) -> bool:
    """Whether the run goes well with it, so that the one that failed goes without: “with offload it works but is slow”."""
    start, clause = clause_of(words, found)
    behind = _GOES_WELL.search(words, found.end(), start + len(clause))
    return bool(behind or (_FINE.search(clause) and not FAILURE.search(clause)))


def _beside(forms: tuple[re.Pattern[str], re.Pattern[str]], words: str, start: int, end: int) -> bool:
    """Whether the first form ends right before it, or the second begins right behind."""
    return bool(forms[0].search(words[max(0, start - _NEAR) : start]) or forms[1].match(words[end : end + _NEAR]))
