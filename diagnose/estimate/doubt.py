"""How far the bytes of a phase may lie from their middle: doubts of one cause add up, doubts of different causes rarely all come true.

Terms that hang on the same unknown go up together, so their bands are added: all that is counted in rows and tokens is one cause, what
hangs on the place of the optimizer's state another, every other term one of its own. Causes are independent, so that their deviations
add up as squares do (JCGM 100:2008, Guide to the expression of uncertainty in measurement, section 5.1). Two causes lie in no term's band:

* the formulas themselves. Of 82 published runs whose lengths are settled half lie within 10 % of the estimate; what is held follows from
  the parameters, so that most of it is what works: a quarter of that. With less, too many published runs lie outside
  (docs/accuracy.md, "The band"). Where no record tells of the trainer nobody read which copies it makes: of 37 such runs half lie within
  11 % and four in five within 46 %, of 549 others within 6 and 22 %, so that the doubt is twice as large. The same of a stand-in: held
  against the 106 dense models of the catalogue by their size alone, what is held lies within 9 % in nine of ten
  (tests/diagnose/estimate/test_stand_in.py), what works in tuning adapters on one card, 4 rows of 2,048 tokens, 34 % below to 167 % above,
  since most vocabularies are smaller than the one that is taken.
* pieces. The allocator hands back what it caches before it gives up, so that its cache fills a card and never overfills it, but for
  pieces of what is in use (terms_fixed.py: pieces).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

from diagnose.types import Term

_FORMULA = {"work": 0.25, "held": 0.05}  # by family, as a share
_ARRIVING = "load_transient"  # weights on their way in, as many bytes as those that stay
_UNREAD = 2.0  # times that, of a trainer or a model that no record tells of
_LENGTH = frozenset(
    ("prompt_length", "response_length", "max_length", "micro_batch", "micro_tokens", "gradient_checkpointing")
)
_PLACE = "optimizer_on_cpu"


def bounds(
    terms: Iterable[Term],
    slack: Term,
    most_cached: float,
    pieces: float,
    capacity: int | None,
    known: bool = True,
) -> tuple[int, int]:
    """Lowest and highest plausible bytes of a phase of these terms and the allocator's ``slack``.

    The allocator may cache up to ``most_cached`` bytes where the card has them, and cannot hand back ``pieces`` of these. ``known``:
    records tell of the trainer and of the model.
    """
    middle, formula = 0, 0.0
    by_length, by_place = [0, 0], [0, 0]  # below and above
    squares = [0.0, 0.0]
    for term in terms:
        middle += term.bytes
        formula += _FORMULA.get("held" if term.id == _ARRIVING else term.family, 0.0) * term.bytes
        below, above = term.bytes - term.low, term.high - term.bytes
        if _hangs_on_length(term.moved_by):
            by_length[0] += below
            by_length[1] += above
        elif _PLACE in term.moved_by:
            by_place[0] += below
            by_place[1] += above
        elif below or above:
            squares[0] += below * below
            squares[1] += above * above
    formula *= 1.0 if known else _UNREAD
    down, up = (
        math.sqrt(same * same + where * where + others + formula * formula)
        for same, where, others in zip(by_length, by_place, squares, strict=True)
    )
    low = middle + slack.bytes - math.hypot(down, max(0, slack.bytes - slack.low))
    high = middle + slack.bytes + math.hypot(up, max(0.0, most_cached - slack.bytes))
    if capacity is not None:
        high = max(middle + math.hypot(up, pieces), min(high, capacity), middle + slack.bytes)
    return max(0, round(low)), round(high)


@lru_cache(maxsize=512)
def _hangs_on_length(moved_by: tuple[str, ...]) -> bool:
    return not _LENGTH.isdisjoint(moved_by)
