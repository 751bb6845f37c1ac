"""Whether a lever's conditions hold in a situation, also where several phases are left in which it may have failed."""

from __future__ import annotations

from diagnose.conditions import holds, only_rules_out, passes, unknown
from diagnose.knowledge.records import Lever
from diagnose.prescribe.of_phase import samples_eagerly
from diagnose.prescribe.situation import Situation

# The phases that a lever must cover to be said while nothing settles the phase: our choice, not counted from cases.
_USUAL_PHASES = ("actor_update", "rollout")

_WEIGHTS_AWAY = ("param_offload", "param_on_cpu")
# What is trained, as it is where nobody says more, and how it is shared out.
_KINDS_OF_RUN = (("full_or_lora", "full"), ("strategy", ""))


def applies(lever: Lever, situation: Situation) -> bool | None:
    """True or False where they hold or fail in every phase that is left; None where a fact that would decide is unknown."""
    if _of_another_run(lever, situation) or _takes_what_samples(lever, situation):
        return False
    found = holds(lever.when, situation.values)
    if found is False and situation.facts.builds_optimizer:  # what lightens the optimizer's step lightens its building
        return holds(lever.when, {**situation.values, "phase": "optimizer_step"})
    if found is False and samples_eagerly(
        lever, situation
    ):  # a prompt goes through the model as in a pass of log-probs
        return holds(lever.when, {**situation.values, "phase": "logprob"})
    if found is not None or "phase" not in lever.when or not situation.possible:
        return found
    each = {holds(lever.when, {**situation.values, "phase": phase}) for phase in situation.possible}
    return each.pop() if len(each) == 1 else None


def is_guess(lever: Lever, situation: Situation) -> bool:
    """Whether a condition beyond the kind is open; an open phase counts only for levers of the rarer phases."""
    open_facts = set(unknown(lever.when, situation.values)) - {"oom_kind"}
    open_facts -= {id for id, test in lever.when.items() if only_rules_out(test)}
    if "phase" in open_facts and _of_phases(lever, situation):
        open_facts.discard("phase")
    return bool(open_facts)


def _of_phases(lever: Lever, situation: Situation) -> bool:
    """Whether it is for all phases that are left, or for one of the usual where any may be."""
    test = lever.when["phase"]
    if situation.possible:
        return all(passes(test, phase) for phase in situation.possible)
    return bool(set(test) & set(_USUAL_PHASES))


def _of_another_run(lever: Lever, situation: Situation) -> bool:
    """Whether it is for adapters alone, or for one way to share a model out, of which the text of an unknown trainer tells nothing."""
    if situation.framework_known:
        return False
    asked = ((lever.when[id], usual) for id, usual in _KINDS_OF_RUN if id in lever.when and id not in situation.values)
    return any(not only_rules_out(test) and not passes(test, usual) for test, usual in asked)


def _takes_what_samples(lever: Lever, situation: Situation) -> bool:
    """Whether it moves the weights off the card while the trained model itself samples with them: full sharding alone streams them."""
    samples = situation.phase == "rollout" and situation.values.get("rollout_engine") == "hf"
    streams = situation.values.get("zero_stage") == 3 and situation.facts.certain("zero_stage")
    return samples and not streams and any(change.fact in _WEIGHTS_AWAY for change in lever.changes)
