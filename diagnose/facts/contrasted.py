"""Whether a clause in which all goes well tells of the trainer whose run fails: “7B works, 32B OOMs”, “worked on H100 but OOM on A100”."""

from __future__ import annotations

import re

_KINDS = (
    r"\d{1,3}(?:\.\d)?\s?B\b",
    r"(?:\d{1,3}\s?[x×*]?\s?)?(?:RTX\s?)?[AHLVBT]?\d{2,4}(?:\s?\d{2}\s?GB?)?s?(?![A-Za-z\d.])",
    r"\d{1,3}\s?(?:gpus?|cards?|nodes?|张?卡)",
    r"(?:Q?LoRA|full(?:[ -](?:ft|fine-?tuning|parameters?))?|全参)",
)
_WELL = (
    r"(?:\s*(?:is|are|was|runs?|就|都|上|也)*\s*(?:works?|worked|fine|ok|fits?|能跑|没问题|正常|可以跑?)(?![A-Za-z]))"
)
_WELL_ON = r"(?:works?|worked|is fine|runs? fine|fits?)\s+(?:on|with|for)\s+(?:an?\s+|the\s+|my\s+)?"
_BETWEEN = r"\s*[,，;；]?\s*(?:but|while|and|however|但是?|而)?\s*"
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


def of_one_run(text: str, start: int) -> bool:
    """Whether behind ``start`` two of a kind are told side by side, one with which it works and one with which it fails."""
    return any(form.search(text, start, start + _NEAR) for form in _CONTRASTS)
