"""A share of the card that another try of the same text had: “(0.9) was my first try, now 0.6”, “if I go to 0.5 I get …”."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from diagnose.facts.failing.signature import is_mark
from diagnose.facts.settings import written
from diagnose.facts.settings.spelling import normal
from diagnose.knowledge.records import Framework
from diagnose.types import Fact, Hit, Line, Paste, Setting, Span

_SHARE = "gpu_memory_utilization"
_LAST = 3  # the strength of a program's own words
# what was set last, with the failure that it gave
_WENT_TO = re.compile(
    r"\b(?:if|when|once|after)\s+(?:i|we)\s+(?:go|went|set|raised?|increased?|lower(?:ed)?|drop(?:ped)?|changed?|put)\s+(?:it\s+)?"
    r"(?:up\s+|down\s+)?to\s+(?P<new>0?\.\d{1,3})(?![\w.%])[^.;\n]{0,24}?\b(?:gets?|got|gives?|sees?|hits?|fails?|says)\b"
    r"|[改调设换升降加][到成为至]\s*(?P<new_zh>0?\.\d{1,3})(?![\w.%])\s*(?:的话)?[,，]?\s*(?:就|又|则|会|还是)?\s*(?:报|出现|提示|变成)",
    re.I | re.A,
)


def without_other_try(
    hits: tuple[Hit, ...], captured: Mapping[str, Fact], paste: Paste, framework: Framework | None
) -> tuple[tuple[Hit, ...], dict[str, Fact]]:
    """Hits and captures without those of a message whose share no command has, where another message tells the failure of the command."""
    share = captured.get(_SHARE)
    told = {number_of(one) for one in shares_set(paste, framework) if one.command >= 0}
    if share is None or share.span is None or not told or float(share.value) in told:
        return hits, dict(captured)
    line = share.span.line
    others = [hit for hit in hits if hit.span.line != line]
    if not any(hit.signature.strength == _LAST and not is_mark(hit.signature) for hit in others):
        return hits, dict(captured)
    return tuple(others), {id: one for id, one in captured.items() if one.span is None or one.span.line != line}


def with_last_share(paste: Paste, speech: Sequence[Line], framework: Framework | None) -> Paste:
    """The paste with the share that a sentence says to have been tried last, with the message that it gave."""
    found = next(((line, one) for line in speech if (one := _WENT_TO.search(line.words))), None)
    shares = shares_set(paste, framework)
    if found is None or not shares:
        return paste
    line, went = found
    group = "new" if went["new"] else "new_zh"
    span = Span(line.number, line.offset + went.start(group), line.offset + went.end(group))
    settings = (replace(one, value=went[group], span=span) if one in shares else one for one in paste.settings)
    return replace(paste, settings=tuple(settings))


def shares_set(paste: Paste, framework: Framework | None) -> list[Setting]:
    """The settings of the engine's share of the card."""
    keys = framework.keys if framework else ()
    names = {normal(name) for key in keys if key.fact == _SHARE for name in (key.key, *key.aliases)}
    names |= {_SHARE, *(name.rsplit(".", 1)[-1] for name in names)}  # people write a key by its last part
    return [one for one in paste.settings if normal(one.key) in names and number_of(one) is not None]


def number_of(setting: Setting) -> float | None:
    """The share that a setting writes, or None where it writes something else."""
    read = written.of(_SHARE, setting.value)
    return float(read) if isinstance(read, (int, float)) else None
