"""What a changed run takes where a message measured more than the settings explain: its own terms, and that on top."""

from __future__ import annotations

from diagnose.types import PhaseEstimate

_CACHED = "allocator_slack"


def with_unexplained(before: PhaseEstimate, after: PhaseEstimate, unexplained: int, limit: int | None) -> int:
    """Bytes of the changed phase with the unexplained ones.

    Blocks that the allocator only caches grow into what the card has free, and what nobody explains stands there already: what they
    grow by as the rest falls fills the card at most and runs out of nothing.
    """
    whole = after.bytes + unexplained
    grown = _cached(after) - _cached(before)
    return whole if limit is None or grown <= 0 else max(whole - grown, min(whole, limit))


def _cached(phase: PhaseEstimate) -> int:
    return sum(term.bytes for term in phase.terms if term.id == _CACHED)
