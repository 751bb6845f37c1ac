"""What to change first, for the top of the answer: the advice itself stands a screen or more below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diagnose.words import in_sentence
from diagnose.words.lists import listed
from wizard.advice import Advice, Several, Swap


@dataclass(frozen=True, slots=True)
class First:
    """``place`` is the id of the advice on the page; ``effect`` is empty where no figure is computed."""

    label: str
    place: str
    title: str
    effect: str
    swaps: tuple[Swap, ...]


def first(advised: Sequence[Advice], together: Several | None) -> First | None:
    """The set that is enough together, else the first change; None where nothing is advised."""
    if together:
        title, *more = (lever.title for lever in together.levers)
        named = listed([title, *(in_sentence(other) for other in more)])
        return First("Change together" if more else "Change first", "together", named, together.effect, together.swaps)
    if not advised:
        return None
    one = advised[0]
    figures = bool(one.bars or one.room)
    return First(
        "Change first" if figures else "Try first",
        f"rx{one.number}",
        one.title,
        one.effect if figures else "",
        one.swaps,
    )
