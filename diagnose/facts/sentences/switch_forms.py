"""Settings that words have on or off: recomputed activations, FlashAttention."""

from __future__ import annotations

import re

from diagnose.facts.sentences.on_off import switched

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
# a critic has a switch of its own
_OF_CRITIC = {"gradient_checkpointing": "critic_gradient_checkpointing"}
_CRITIC = r"(?:critic|value model)"
_BOTH = rf"(?:actor\s*(?:/|,|&|、|和|与|\band\b)\s*(?:the\s+)?{_CRITIC}|{_CRITIC}\s*(?:/|,|&|、|和|与|\band\b)\s*(?:the\s+)?actor)"
_HAS = (
    r"(?:['’]s)?(?:\s*(?:model|的|has|had|have|with|without|w/o|no|not|both|uses?|us(?:ed|ing)|[是也都还没未不有开了打关掉启用]))*"
    r"\s*[`'\"“]?$"
)
_SET_FOR = r"[`'\"”]?\s*(?:(?:is|was|are|turned|switched|on|off|enabled|disabled|not)\s+){0,3}(?:on|for|in|of)\s+(?:both\s+)?(?:the\s+)?"
_ROLES = tuple(
    (re.compile(rf"\b{who}{_HAS}", re.I | re.A), re.compile(rf"{_SET_FOR}{who}\b", re.I | re.A))
    for who in (_BOTH, _CRITIC)
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


def whose(id: str, words: str, found: re.Match[str]) -> tuple[str, ...]:
    """The fact of the critic where the words say that it is the critic's switch, with the trained model's where they say it of both."""
    own = _OF_CRITIC.get(id)
    if own is None:
        return (id,)
    before = words[max(0, found.start() - 48) : found.start()]
    both, critics = (ahead.search(before) or behind.match(words, found.end()) for ahead, behind in _ROLES)
    return (id, own) if both else (own,) if critics else (id,)
