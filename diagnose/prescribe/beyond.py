"""One request that is larger than a whole card: only what makes that tensor smaller helps."""

from __future__ import annotations

from diagnose.allocator import beyond_card
from diagnose.knowledge.records import Lever
from diagnose.prescribe.situation import Situation
from diagnose.types import NotAdvised
from diagnose.vocabulary import FACTS

_PASSES = ("rollout", "logprob", "ref_logprob", "values", "reward", "critic", "actor_update", "eval")
_OF_A_PASS = ("sequences per GPU", "tokens per GPU", "tokens")
_OF_A_TENSOR = (
    "max_pixels",
    "image_tiles",
    "flash_attention",
    "logits_chunked",
    "remove_padding",
    "sp",
    "tp",
    "rollout_n",
)


def beyond_a_card(lever: Lever, situation: Situation) -> NotAdvised | None:
    """It makes room on a card that a pass asked for more than the whole of, in one piece.

    Weights and an optimizer that are made flat are no tensor of a pass: they go with the cards that share them.
    """
    of_a_pass = situation.phase is None or situation.phase in _PASSES
    if not beyond_card(situation.facts) or not of_a_pass or situation.facts.builds_optimizer:
        return None
    if not (lever.changes or lever.frees_unused) or _shrinks(lever):
        return None
    asked = situation.facts.number("tried_alloc_gib") or 0.0
    return NotAdvised(
        lever, "no_gain", f"{asked:,.1f} GiB in one piece is more than the whole card, whatever else leaves it."
    )


def _shrinks(lever: Lever) -> bool:
    """Whether it changes how much a pass takes at once, or how attention and logits are made."""
    return any(FACTS[change.fact].unit in _OF_A_PASS or change.fact in _OF_A_TENSOR for change in lever.changes)
