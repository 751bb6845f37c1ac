"""A lever as it acts on the failing phase: of the keys that trainers have apart for each role, the ones of the role that runs out."""

from __future__ import annotations

from dataclasses import replace

from diagnose.knowledge.records import Lever, LeverRank
from diagnose.prescribe.outcome import Refusal
from diagnose.prescribe.situation import Situation
from diagnose.types import NotAdvised
from diagnose.vocabulary import FACTS

_OF_A_PASS = ("sequences per GPU", "tokens per GPU", "tokens")
# How a pass is cut, split or kept, set for each role by a key of its own.
_OF_PASSES = ("logprob_micro_batch", "sp", "activation_offload")
_OTHER_ROLES = {"critic": "critic", "values": "critic", "reward": "reward model"}
# a pass of log-probs is as large as one of the update where no key of its own cuts it
_OF_LOGPROBS = ("logprob", "ref_logprob")
_OF_ENGINE = ("init", "rollout")


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
    """Whether the lever changes how much one pass of the failing phase takes: rows, tokens, lengths, pixels, scores of eager attention."""
    phases = lever.when.get("phase", ())
    named = (isinstance(phases, list | tuple) and situation.phase in phases) or samples_eagerly(lever, situation)
    return named and any(_sizes(change.fact, situation) for change in lever.changes)


def speaks_too_low(refusal: Refusal, lever: Lever, situation: Situation, rank: LeverRank | None) -> bool:
    """Whether a figure refuses what the failing pass takes, though that figure leaves the failure itself unexplained.

    Of an engine's pass over images no estimate has a figure.
    """
    of_images = rank is not None and "in_tower" in rank.when and situation.phase in _OF_ENGINE
    unexplained = of_images or (situation.pass_unexplained and sizes_its_pass(lever, situation))
    return unexplained and refusal.reason in ("no_gain", "untold", "elsewhere")


def _sizes(fact: str, situation: Situation) -> bool:
    if (
        fact == "gpu_memory_utilization"
    ):  # an engine that gets its weights may have its cache as well, where more is in use than it takes
        return situation.phase == "weight_sync" and situation.values.get("rollout_mode") == "colocated"
    eager = fact == "flash_attention" and situation.facts.certain(fact) and situation.values.get(fact) is False
    return FACTS[fact].unit in _OF_A_PASS or fact in ("max_pixels", "image_tiles") or eager


def samples_eagerly(lever: Lever, situation: Situation) -> bool:
    """Whether it is for attention that the text tells to be eager, where the trainer's own model ran out as it sampled."""
    own = situation.phase == "rollout" and situation.values.get("rollout_engine") == "hf"
    return own and any(change.fact == "flash_attention" and _sizes(change.fact, situation) for change in lever.changes)


def of_the_actor(lever: Lever, situation: Situation) -> NotAdvised | None:
    """It acts on the actor's passes by a key of the actor's, while one of another role's runs out, which has a key of its own."""
    keys = [situation.facts.keys.get(change.fact, "") for change in lever.changes if change.fact in _OF_PASSES]
    own = situation.facts.keys.get("logprob_micro_batch")
    if own and lever.changes and lever.changes[0].fact == "micro_batch" and situation.phase in _OF_LOGPROBS:
        return NotAdvised(lever, "elsewhere", f"{own} cuts the passes of log-probs.")
    role = _OTHER_ROLES.get(situation.phase or "")
    if role is None or not keys or not all(map(_is_the_actors, keys)):
        return None
    return NotAdvised(lever, "elsewhere", f"{keys[0]} is the actor’s; what runs out is a pass of the {role}.")


def _is_the_actors(key: str) -> bool:
    """Whether the path before a key's own name says that it is of the actor."""
    return any(part == "actor" or part.startswith("actor_") for part in key.split(".")[:-1])
