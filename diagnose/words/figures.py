"""Sizes in words: GiB and MiB, peaks and bands in tenths, counts of which nobody knows more than three figures."""

from __future__ import annotations

from diagnose.types import PhaseEstimate
from diagnose.units import GIB, MIB, tenths

NBSP = "\u00a0"


def mib(size: float) -> str:
    """``812 MiB``, as an allocator prints what is less than a GiB; ``0.5 MiB`` of what would be nothing."""
    return f"{size / MIB:,.0f}{NBSP}MiB" if size >= MIB else f"{size / MIB:.2g}{NBSP}MiB"


def gib(size: float) -> str:
    """``31.4 GiB`` with a space that does not break, ``24 MiB`` of what would be nothing."""
    return mib(size) if MIB <= size < GIB / 20 else f"{size / GIB:,.1f}{NBSP}GiB"


def phase_tenths(phase: PhaseEstimate) -> tuple[int, int, int]:
    """Peak, low and high of a phase in tenths of a GiB: the peak from its rounded terms, so that a reader who adds up gets the same."""
    return sum(tenths(term.bytes) for term in phase.terms), tenths(phase.low), tenths(phase.high)


def need_tenths(phase: PhaseEstimate) -> tuple[int, int, int]:
    """What a phase takes in tenths of a GiB, with its low and high: measured where it was, else from its rounded terms."""
    return phase_tenths(phase) if phase.measured is None else (tenths(phase.measured),) * 3


# A band that ends so many times above its middle ends nowhere: too much is unknown.
_ENDLESS = 8


def band_words(middle: int, low: int, high: int) -> str:
    """Tenths of a GiB as ``45.9 to 79.2``, as ``37.3 or more`` where nothing bounds them; empty without a band."""
    if high > _ENDLESS * max(middle, 1):
        return f"{low / 10:,.1f} or more"
    return f"{low / 10:,.1f} to {high / 10:,.1f}" if high > low else ""


def phase_gib(phase: PhaseEstimate) -> str:
    """A phase's peak as it is shown."""
    return f"{phase_tenths(phase)[0] / 10:,.1f}{NBSP}GiB"


def rounded(number: int) -> str:
    """Three figures of a number: what is reckoned is no better known."""
    digits = max(0, len(str(number)) - 3)
    return f"{round(number, -digits):,}"
