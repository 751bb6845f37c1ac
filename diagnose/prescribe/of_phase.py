"""A lever as it acts on the failing phase: of the keys that trainers have apart for each role, the ones of the role that runs out."""

from __future__ import annotations

from dataclasses import replace

from diagnose.knowledge.records import Lever
from diagnose.prescribe.situation import Situation
from diagnose.vocabulary import FACTS

_OF_A_PASS = ("sequences per GPU", "tokens per GPU", "tokens")


def of_phase(lever: Lever, situation: Situation) -> Lever:
    """The lever with the changes that act where it failed, or in the highest phase where nothing settles that."""
    phase = situation.failing.phase if situation.failing else situation.phase
    if phase is None or not any(change.phases for change in lever.changes):
        return lever
    own = [change for change in lever.changes if phase in change.phases and _is_set_by(change.fact, situation)]
    others = [change for change in lever.changes if not change.phases]
    # a size that nobody gives the phase follows that of the update, where this is told
    follows = not any(change.fact in situation.facts.values for change in own) and any(
        change.fact in situation.facts.values for change in others
    )
    left = others if follows else own or others
    return replace(lever, changes=tuple(left)) if left else lever


def _is_set_by(fact: str, situation: Situation) -> bool:
    """Whether a key of the framework sets the fact, or the text tells it."""
    return fact in situation.facts.keys or fact in situation.facts.values


def sizes_its_pass(lever: Lever, situation: Situation) -> bool:
    """Whether the lever changes how much one pass of the failing phase takes: rows, tokens, lengths."""
    phases = lever.when.get("phase", ())
    named = isinstance(phases, list | tuple) and situation.phase in phases
    return named and any(FACTS[change.fact].unit in _OF_A_PASS for change in lever.changes)
