"""The sentences on a phase that runs out next, once what failed is mended."""

from __future__ import annotations

from diagnose.types import Ahead
from diagnose.words import phase_words
from diagnose.words.change import before_words
from diagnose.words.figures import band_words, gib, phase_gib, phase_tenths
from diagnose.words.together import gained


def title(ahead: Ahead) -> str:
    """What comes next."""
    return f"Next the {phase_words(ahead.phase.phase)} would run out"


def told(ahead: Ahead) -> str:
    """How much it needs of what, and what brings the whole run to fit."""
    band = band_words(*phase_tenths(ahead.phase))
    need = f"{phase_gib(ahead.phase)}{f' ({band})' if band else ''} of {gib(ahead.limit)}"
    if ahead.together is None:
        cure = "We found no set of changes by which the whole run fits: a smaller model, more cards or larger ones may."
    else:
        word = "fits" if ahead.together.after_verdict == "fits" else "comes near to fitting"
        cure = f"The whole run {word} if you also {gained(ahead.together, ahead.limit)}"
    when = " from the second step on, with Adam’s state on the cards" if ahead.next_step else ""
    return f"Even with the first change below, this phase needs {need} by the estimate{when}. {cure}"


def changed(ahead: Ahead) -> tuple[str, ...]:
    """The further changes as people write them, ``micro_batch 8 → 1``."""
    changes = ahead.together.changes if ahead.together else ()
    return tuple(
        f"{one.key} {f'{before_words(one)} → ' if one.before else ''}{one.after}" for one in changes if one.key
    )
