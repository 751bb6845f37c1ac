"""The sentences on a set of changes that is enough together."""

from __future__ import annotations

from diagnose.types import Together
from diagnose.units import tenths
from diagnose.words import in_sentence, phase_words
from diagnose.words.figures import NBSP, phase_tenths


def title(together: Together) -> str:
    """What the set does."""
    if len(together.levers) == 1:
        return "This change fits" if together.after_verdict == "fits" else "This change comes near: too close to call"
    return "These together fit" if together.after_verdict == "fits" else "These together come near: too close to call"


def why(together: Together, limit: int | None) -> str:
    """What they are, what is left of ``limit`` in bytes then, and what older releases call their keys."""
    told = gained(together, limit)
    alone = "No change is enough alone. " if len(together.levers) > 1 else ""
    alone = "No change that leaves the results as they are is enough alone. " if together.spares else alone
    return f"{alone}{told[0].upper()}{told[1:]} {together.older}".rstrip()


def gained(together: Together, limit: int | None) -> str:
    """The same within a sentence."""
    phase, need = phase_words(together.after.phase), f"{together.after.shown}{NBSP}GiB"
    *first, last = (in_sentence(lever.title) for lever in together.levers)
    told = f"{', '.join(first)} and {last}" if first else last
    free = tenths(limit) - phase_tenths(together.after)[0] if limit and together.after_verdict == "fits" else 0
    left = f", and {free / 10:.1f}{NBSP}GiB stay free" if free > 0 else ""
    return f"{told}: then the {phase} needs most, {need}{left}."


def costs(together: Together) -> list[str]:
    """What those of its levers cost that may change results, a sentence each."""
    return [f"{lever.title}: may change results. {lever.cost}" for lever in together.levers if lever.results != "same"]
