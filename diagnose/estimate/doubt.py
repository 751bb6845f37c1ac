"""How far the bytes of a phase may lie from their middle: doubts of one cause add up, doubts of different causes rarely all come true.

Terms that hang on the same unknown go up together, so their bands are added: all that is counted in rows and tokens is one cause, every
other term one of its own. Causes are independent, so that their deviations add up as squares do (JCGM 100:2008, Guide to the expression
of uncertainty in measurement, section 5.1). Two causes lie in no term's band:

* the formulas themselves. Of 82 published runs whose lengths are settled half lie within 10 % of the estimate; what is held follows from
  the parameters, so that most of it is what works: about a fifth of that.
* pieces. The allocator hands back what it caches before it gives up, so that its cache fills a card and never overfills it, but for
  pieces of what is in use (terms_fixed.py: pieces).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from diagnose.types import Term

_FORMULA_WORK, _FORMULA_HELD = 0.2, 0.03
_LENGTH = frozenset(
    ("prompt_length", "response_length", "max_length", "micro_batch", "micro_tokens", "gradient_checkpointing")
)


def bounds(
    terms: Iterable[Term], slack: Term, most_cached: float, pieces: float, capacity: int | None
) -> tuple[int, int]:
    """Lowest and highest plausible bytes of a phase of these terms and the allocator's ``slack``.

    The allocator may cache up to ``most_cached`` bytes where the card has them, and cannot hand back ``pieces`` of these.
    """
    terms = tuple(terms)
    middle, work, held = (_sum(terms, families) for families in (None, "work", "held"))
    formula = _FORMULA_WORK * work + _FORMULA_HELD * held
    below = math.hypot(_together((_cause(term), term.bytes - term.low) for term in terms), formula)
    above = math.hypot(_together((_cause(term), term.high - term.bytes) for term in terms), formula)
    low = middle + slack.bytes - math.hypot(below, max(0, slack.bytes - slack.low))
    high = middle + slack.bytes + math.hypot(above, max(0.0, most_cached - slack.bytes))
    if capacity is not None:
        high = max(middle + math.hypot(above, pieces), min(high, capacity), middle + slack.bytes)
    return max(0, round(low)), round(high)


def _sum(terms: Iterable[Term], family: str | None) -> int:
    return sum(term.bytes for term in terms if family in (None, term.family))


def _cause(term: Term) -> str:
    return "length" if _LENGTH.intersection(term.moved_by) else term.id


def _together(deviations: Iterable[tuple[str, int]]) -> float:
    """Deviations of one cause as their sum, and all causes as the root of their squares."""
    by_cause: dict[str, int] = {}
    for cause, size in deviations:
        by_cause[cause] = by_cause.get(cause, 0) + size
    return math.hypot(*by_cause.values())
