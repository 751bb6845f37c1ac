"""What the keys of several possible frameworks read alike."""

from __future__ import annotations

from diagnose.facts.settings.keys import KeyFacts
from diagnose.types import Fact


def agreed(readings: list[KeyFacts]) -> dict[str, Fact]:
    """The facts that several frameworks' keys read alike: what is certain although the framework is not."""
    if not readings:
        return {}
    first, *others = readings
    return {
        id: fact
        for id, fact in first.stated.items()
        if all(
            id in other.stated and (other.stated[id].value, other.stated[id].unit) == (fact.value, fact.unit)
            for other in others
        )
    }
