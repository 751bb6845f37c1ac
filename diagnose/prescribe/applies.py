"""Whether a lever's conditions hold in a situation, also where several phases are left in which it may have failed."""

from __future__ import annotations

from diagnose.conditions import holds, only_rules_out, passes, unknown
from diagnose.knowledge.records import Lever
from diagnose.prescribe.of_phase import samples_eagerly
from diagnose.prescribe.situation import Situation

# The phases that a lever must cover to be said while nothing settles the phase: our choice, not counted from cases.
_USUAL_PHASES = ("actor_update", "rollout")


def applies(lever: Lever, situation: Situation) -> bool | None:
    """True or False where they hold or fail in every phase that is left; None where a fact that would decide is unknown."""
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
