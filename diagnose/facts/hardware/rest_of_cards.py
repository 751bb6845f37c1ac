"""One card beside all others: “one card spikes, the other three stay low” tells of four."""

from __future__ import annotations

import re

from diagnose.facts.sentences.prose import numeral

_REST = re.compile(
    r"\b(?:the )?(?:other|remaining)\s+(?P<n>[2-9]|1[0-5]|two|three|four|five|six|seven)"
    r"(?:\s+(?:gpus?|cards?|ranks?|ones|stay\w*|are|were|sit\w*|remain\w*|have|had|keep|kept|show\w*|look\w*|idle)\b|\s*[,.;)])"
    r"|(?:其[余他它]|另外|剩下|剩余)的?\s*(?P<zh>[2-9]|1[0-5]|[两三四五六七])\s*(?:张|块|个卡|卡)"
    r"|\bthe (?:others|rest)\b|\b(?:all |the )other (?:gpus|cards|ranks)\b|(?:其[余他它]|别)的(?:卡|几张|都)",
    re.I | re.A,
)
_REACH = 120


def with_the_rest(words: str, end: int, count: int) -> int | None:
    """All cards, where up to ``end`` the words tell of ``count``: those and the others that follow; None where these have no number."""
    found = _REST.search(words, end, end + _REACH) if count == 1 else None
    if found is None:
        return count
    told = found["n"] or found["zh"]
    return count + numeral(told) if told else None
