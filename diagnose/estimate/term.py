"""How a term is made: a band of bytes, words for its numbers, and the one constructor that all terms go through."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from diagnose.types import Term


class Band(NamedTuple):
    """A number with its lowest and highest plausible value."""

    low: float
    mid: float
    high: float

    def times(self, factor: float) -> Band:
        return _band((self.low * factor, self.mid * factor, self.high * factor))

    def at_most(self, bound: float) -> Band:
        return _band((min(self.low, bound), min(self.mid, bound), min(self.high, bound)))

    def in_parts(self, bound: float) -> Band:
        """Each number's share of itself in as few equal parts as are no larger than ``bound``; high: the most of any smaller number."""
        low, mid = (number / max(1, math.ceil(number / bound)) for number in self[:2])
        return Band(low, mid, min(self.high, bound))

    def of(self, size: Band) -> Band:
        """This share of ``size``, end by end."""
        return _band((self.low * size.low, self.mid * size.mid, self.high * size.high))

    def and_also(self, other: Band) -> Band:
        """Both together."""
        return _band((self.low + other.low, self.mid + other.mid, self.high + other.high))

    def plus(self, number: float) -> Band:
        return _band((self.low + number, self.mid + number, self.high + number))

    @property
    def exact(self) -> bool:
        return self.low == self.mid == self.high


def exactly(number: float) -> Band:
    """A band without width."""
    return _band((number, number, number))


def total(terms: Iterable[Term]) -> Band:
    """The bytes of several terms together, with their band."""
    low = mid = high = 0
    for term in terms:
        low += term.low
        mid += term.bytes
        high += term.high
    return _band((low, mid, high))


def make_term(
    id: str, title: str, family: str, size: Band | float, how: str, source: str, moved_by: tuple[str, ...] = ()
) -> Term:
    """A term of ``size`` bytes; never negative, and its band always holds its middle."""
    if not isinstance(size, Band):
        bytes = round(size) if size > 0 else 0
        return _term((id, title, family, bytes, bytes, bytes, how, source, moved_by))
    low, mid, high = size
    middle = round(mid) if mid > 0 else 0
    below, above = round(low) if low > 0 else 0, round(high)
    # compared by hand: a dozen terms a phase are made for every change that is tried
    below, above = below if below < middle else middle, above if above > middle else middle
    return _term((id, title, family, middle, below, above, how, source, moved_by))


# Calling a class of named fields costs more than all else in these functions, and dozens are made for every change that is tried.
_band: Callable[[tuple[float, ...]], Band] = partial(tuple.__new__, Band)
_term: Callable[[tuple[object, ...]], Term] = partial(tuple.__new__, Term)


def count(number: float) -> str:
    """A count in words: 7.62 G, 545 M, 51,200."""
    if number >= 1e9:
        return f"{number / 1e9:.2f} G"
    if number >= 1e7:
        return f"{number / 1e6:.0f} M"
    return f"{number:,.0f}"


def counts(band: Band) -> str:
    """A count, with its band where it has one: 51,200 (25,600 to 61,440)."""
    return count(band.mid) if band.exact else f"{count(band.mid)} ({count(band.low)} to {count(band.high)})"
