"""Whether a clause in which all goes well tells of the trainer whose run fails: “7B works, 32B OOMs”, “worked on H100 but OOM on A100”."""

from __future__ import annotations

import re

from diagnose.vocabulary import OFFLINE_ALGOS, ONLINE_ALGOS

_KINDS = (
    r"\d{1,3}(?:\.\d)?\s?B\b",
    r"(?:\d{1,3}\s?[x×*]?\s?)?(?:RTX\s?)?[AHLVBT]?\d{2,4}(?:\s?\d{2}\s?GB?)?s?(?![A-Za-z\d.])",
    r"\d{1,3}\s?(?:gpus?|cards?|nodes?|张?卡)",
    rf"(?:full |the )?(?:{'|'.join(map(re.escape, (*ONLINE_ALGOS, *OFFLINE_ALGOS)))})(?![\w-])(?: of the same \w{{1,12}})?",
    r"(?:Q?LoRA|full(?:[ -](?:ft|fine-?tuning|parameters?))?|全参)",
)
_WELL = (
    r"(?:\s*(?:is|are|was|runs?|就|都|上|也)*\s*"
    r"(?:work(?:s|ed)?(?: fine| ok| well)?|fine|ok|fits?|能跑|没问题|正常|可以跑?)(?![A-Za-z]))"
)
_WELL_ON = r"(?:works?|worked|is fine|runs? fine|fits?)\s+(?:on|with|for)\s+(?:an?\s+|the\s+|my\s+)?"
_BETWEEN = r"\s*[,，;；]?\s*(?:but|while|and|however|但是?|而)?\s*(?:换成?|改成|改用)?\s*"
_FAILS = r"(?:OOM\w*|out of memory|fails?|crash\w*|dies|爆|炸|挂)"
_ON = r"\s*(?:on|with|for)\s+(?:an?\s+|the\s+|my\s+)?"
_CONTRASTS = tuple(
    re.compile(
        rf"(?:{kind}(?:\s*上)?{_WELL}|{_WELL_ON}{kind}){_BETWEEN}"
        rf"(?:(?:on |with )?{kind}\s*(?:上|就|直接|会|also|always|goes|runs|gets)?\s*{_FAILS}|{_FAILS}{_ON}{kind})",
        re.I | re.A,
    )
    for kind in _KINDS
)
_NEAR = 120
# “same script, two machines”, “two machines, one works and one …”, “两台机器对比”, “两台机器都一样”: a run is on one of them
_ALIKE = re.compile(
    r"(?:\bsame (?:script|code|command|config\w*|settings?|setup|run|everything|job)"
    r"|同样?的?(?:脚本|代码|配置|命令))\s*[,:;，：]\s*(?:on\s+)?$"
    r"|\bsame (?:error|result|problem|issue|oom|crash|failure|behaviou?r)\s+on\s+(?:my\s+|these\s+|both\s+)?$",
    re.I | re.A,
)
_ONE_WORKS = re.compile(
    r"\s*(?:(?:来|做个?|之间)?(?:对比|比较)|[,，:：.。;；(（-]\s*(?:(?:on|the) )?(?:其中)?(?:one|一台)\s*(?:machine|node|of them|机器)?"
    r"\s*(?:is |runs |上|就|是)?(?:works?|worked|ok|okay|fine|能跑|可以跑?|正常|没问题)(?![A-Za-z])"
    r"|上?(?:跑)?都(?:是|会)?(?:一样(?!的)|这样|如此|能?复现|试(?:过了?|了)|有(?:这个|同样的?|一样的)问题)(?![\w一-鿿]))",
    re.I | re.A,
)


def of_one_run(text: str, start: int) -> bool:
    """Whether behind ``start`` two of a kind are told side by side, one with which it works and one with which it fails."""
    return any(form.search(text, start, start + _NEAR) for form in _CONTRASTS)


def set_against(words: str, start: int, end: int) -> bool:
    """Whether the machines that are named there are set against each other, each with a run of its own."""
    return bool(_ALIKE.search(words[max(0, start - _NEAR) : start]) or _ONE_WORKS.match(words, end))


# “H100? no, it's an A40”
_TAKEN_BACK = re.compile(
    r"(?:\s*(?:PCIe|SXM\d?|NVL|\d{2,3}\s?GB?|吗))?\s*[?？]\s*(?:no\b|nope\b|不是?|不对|没有?)[\s,，:]*"
    r"(?:(?:it['’]?s|it is|its|actually|an?|the|是|而是)\s*){0,3}(?:\d{1,3}\s?[x×*张块卡]?\s?)?"
    r"(?:RTX\s?)?(?:[A-Z]{1,3}\d{1,4}|[2-5]0[6-9]0)(?![A-Za-z\d])",
    re.I | re.A,
)


def card_taken_back(words: str, end: int) -> bool:
    """Whether the card whose name ends there is asked for and denied, and another one named in its place."""
    return bool(_TAKEN_BACK.match(words, end))
