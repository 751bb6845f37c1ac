"""Settings that words have on or off: recomputed activations, FlashAttention."""

from __future__ import annotations

import re

from diagnose.facts.on_off import switched

# fact, words in lower case of which a line holds one, and how the setting is named
SWITCHES = (
    (
        "gradient_checkpointing",
        ("checkpointing", "梯度检查点", "重计算"),
        re.compile(
            r"(?<![\w.])(?:(?:enable_)?(?:gradient|activation)[ _-]?checkpointing|梯度检查点|(?:激活)?重计算)(?!\w)",
            re.I | re.A,
        ),
    ),
    (
        "flash_attention",
        ("flash", "fa2", "fa3"),
        re.compile(
            r"(?<![\w./='\"-])(?:flash[ _-]?att(?:ention|n)(?:[ _-]?[23](?!\.\d))?|FA[23])(?![\w=:/'\"]|[.-]\w|\s*[=:：]?\s*v?\d)",
            re.I | re.A,
        ),
    ),
)
# … that is named as one of those that are in use: “with FA2”, “用了 flash attention”, or alone in a list
_USED = re.compile(
    r"(?:(?<![没不未])(?<!没有)(?:使用了?|用了|用的是?)|\b(?:using|used|uses?))\s*(?:the\s+)?[`'\"“]?$", re.I | re.A
)
_LISTED = (re.compile(r"(?:^|[,，、;；+])\s*$", re.A), re.compile(r"\s*(?:[,，、;；+。]|$|\.(?:\s|$))", re.A))
# a list and no sentence
_LISTED_ALONG = re.compile(r"[,，、;；+][^,，、;；+]*[,，、;；+]", re.A)
_CANNOT = re.compile(
    r"(?:\bcan(?:['’]?t|not)\s+use|\bdo(?:es)?(?:n['’]t| not) support|不支持|不能用|用不了|没法用|无法(?:使用|用))\s*(?:the\s+)?[`'\"“]?$",
    re.I | re.A,
)
_BY_NAME = ("flash_attention",)  # nobody lists these without having them


def is_on(id: str, words: str, found: re.Match[str]) -> bool | None:
    """Whether the words have it on, or off; None where they do not say."""
    before = words[max(0, found.start() - 32) : found.start()]
    told = switched(words, found.start(), found.end())
    if id not in _BY_NAME:
        return told
    if told is not None or _CANNOT.search(before):
        # without it most trainers take PyTorch's own kernel, so that no scores are written out and nothing is told
        return True if told and not _CANNOT.search(before) else None
    listed = _LISTED[0].search(before) and _LISTED[1].match(words, found.end()) and _LISTED_ALONG.search(words)
    return True if _USED.search(before) or listed else None
