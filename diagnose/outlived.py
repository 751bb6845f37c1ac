"""A run that got further than its estimate allows: then what was read is not what ran, or the estimate is wrong of it."""

from __future__ import annotations

from typing import NamedTuple

from diagnose.estimate import behaviours_of
from diagnose.estimate.refused import asked_in
from diagnose.types import Diagnosis, Estimate, Facts, PhaseEstimate
from diagnose.units import gib
from diagnose.vocabulary import ONLINE_ALGOS, PHASE_GROUPS, PHASES

TITLE = "The run got further than this estimate allows"

# What a step of online training has behind it where another phase of it begins, on the cards that train: answers come before they are
# scored, all scores before an update (verl v0.7.1 trainer/ppo/ray_trainer.py: fit; OpenRLHF v0.9.0 trainer/ppo_utils/experience_maker.py;
# TRL v0.25.0 trainer/grpo_trainer.py: _generate_and_score_completions). Passes that score stand in no order of their own, nor do the two
# updates; whether weights were handed over before the first answers is the framework's (the behaviour sync_first).
_STARTED = ("load", "init")
_SCORES = ("logprob", "ref_logprob", "values", "reward")
_UPDATES = ("critic", "actor_update")
_BEHIND = {
    "rollout": _STARTED,
    **dict.fromkeys(_SCORES, (*_STARTED, "rollout")),
    **dict.fromkeys(("critic", "actor_update", "optimizer_step"), (*_STARTED, "rollout", *_SCORES)),
    "checkpoint": (*_STARTED, "rollout", *_SCORES, *_UPDATES, "optimizer_step"),
}
_OF_LATE_STATE = (None, "none", "ddp", "fsdp", "fsdp2", "deepspeed")
_STATE = ("actor_optimizer", "actor_moments", "critic_optimizer")
_UPDATE = "actor_update"
# gradients that may not have been made yet, and what the allocator gives back when it is needed
_MAY_BE_GONE = ("actor_gradients", "allocator_slack", "allocator_growth")
_SECOND = 2  # the step
_SURE = 0.95  # saved activations are right within 5 % (tests/diagnose/test_oracle.py)
_CHECKPOINTING = "gradient_checkpointing"
# where the reference's pass comes within the update's (TRL v0.25.0 trainer/online_dpo_trainer.py: training_step)
_IN_ONE = ("online_dpo",)


def went_through(facts: Facts) -> bool:
    """Whether steps of the run went through before it failed."""
    return facts.flag("steps_passed") is True or (facts.number("step") or 0) > 1


def how_far(facts: Facts, phase: str | None, over: str = "") -> str:
    """What shows how far the run came: steps that went through, the phase in which it failed, or in that phase itself its loss."""
    if phase and over == phase:
        return "its layers were through when it failed"
    return "steps went through" if went_through(facts) else f"the run came to the {PHASES[phase]}" if phase else ""


def behind(facts: Facts, phase: str | None) -> tuple[str, ...]:
    """The phases that the run surely went through before it failed in this one: of the same step, or of the steps before."""
    if went_through(facts):
        return tuple(PHASES)
    algo = facts.values.get("algo")
    if algo not in ONLINE_ALGOS or algo in _IN_ONE:
        return ()
    passed = _BEHIND.get(phase or "", ())
    if phase == "optimizer_step" and facts.values.get("has_critic") is False:  # the step can be the policy's alone
        passed = (*passed, _UPDATE)
    synced = "rollout" in passed and behaviours_of(facts, None).get("sync_first") == "yes"
    return (*passed, "weight_sync") if synced else passed


class Outlived(NamedTuple):
    """A phase that the run went through, and the least that it needs of a card by the estimate, in bytes."""

    phase: str
    least: int


def outlived(facts: Facts, before: Estimate, phase: str | None, within: bool = True) -> Outlived | None:
    """The phase that needs more of a card than it has, with its whole band, though the run went through it; None where none does.

    Not the ``phase`` that failed, whose rows may have grown, but for what it had behind it ``within``. Where nothing names it, not the
    highest.
    """
    gpu, passed = before.gpu, behind(facts, phase)
    if gpu is None or gpu.limit is None or not gpu.phases:
        return None
    failed = phase or gpu.peak.phase
    least = [
        Outlived(one.phase, _least(facts, phase, one))
        for one in gpu.phases
        if one.phase != failed
        and one.phase in passed
        and one.measured is None
        and PHASE_GROUPS.get(one.phase) != "sometimes"
    ]
    least += [Outlived(failed, kept_through(facts, before, phase))] if within else []
    return max((one for one in least if one.least > gpu.limit), key=lambda one: one.least, default=None)


def _least(facts: Facts, failed: str | None, phase: PhaseEstimate) -> int:
    """The low end of a phase that the run went through, in its first step perhaps, where Adam had no state."""
    with_state = phase.phase == "optimizer_step" or (went_through(facts) and not _in_first_alone(facts, failed, phase))
    return phase.low - (0 if with_state else late_state(facts, phase))


def _in_first_alone(facts: Facts, failed: str | None, phase: PhaseEstimate) -> bool:
    """Whether the run failed in its second step before it came to this phase, and so went through it while Adam had no state."""
    return facts.number("step") == _SECOND and failed is not None and phase.phase not in _BEHIND.get(failed, ())


def kept_through(facts: Facts, before: Estimate, phase: str | None) -> int:
    """Bytes that a card holds at least when the layers of the update are through, by the estimate; 0 where nothing shows that they were.

    What stands on it, less gradients and a state that may not have been made yet, and what the forward pass keeps for the backward pass.
    """
    shown = facts.layers_through or _UPDATE in asked_in(facts)
    through = phase == _UPDATE and shown and before.gpu is not None
    update = before.gpu.phase(_UPDATE) if through and before.gpu else None
    if update is None:
        return 0
    stays = (term for term in update.terms if term.id not in _MAY_BE_GONE)
    kept = sum(term.low for term in stays if term.family != "work" or _CHECKPOINTING in term.moved_by)
    return round(_SURE * (kept - (0 if went_through(facts) else late_state(facts, update))))


def late_state(facts: Facts, phase: PhaseEstimate) -> int:
    """Bytes of Adam's state in a phase, where it comes with the first optimizer step.

    torch's optimizers make it when they step for the first time (torch 2.6 optim/adam.py: _init_group), under DeepSpeed too since
    deepspeedai/DeepSpeed@1817980; its masters alone come before, and count here with the rest. Megatron's comes before training
    (core/optimizer/distrib_optimizer.py).
    """
    if facts.values.get("strategy") not in _OF_LATE_STATE:
        return 0
    return sum(term.bytes for term in phase.terms if term.id in _STATE)


def told(diagnosis: Diagnosis) -> str:
    """What contradicts what, and where to look; empty where nothing does."""
    gpu, over = diagnosis.estimate.gpu, outlived(diagnosis.facts, diagnosis.estimate, diagnosis.phase)
    if over is None or gpu is None or gpu.limit is None:
        return ""
    went = how_far(diagnosis.facts, diagnosis.phase, over.phase)
    later = went and over.phase != diagnosis.phase and not went_through(diagnosis.facts)
    went += ", which is later in a step" if later else ""
    return (
        f"By it the {PHASES[over.phase]} needs at least {gib(over.least)} GiB of {gib(gpu.limit)}, yet {went}. Either something "
        "read here is not what ran, or is not in the paste: compare model, cards, sharding and offloads with the launch command. Or the "
        "estimate is wrong of this run: do not trust its figures before that is settled."
    )
