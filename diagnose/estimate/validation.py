"""The evaluation of a run whose engine generates for it, as for a step: on a card it takes what the rollout takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from diagnose.estimate.plan import Plan
from diagnose.types import Facts, PhaseEstimate
from diagnose.vocabulary import ONLINE_ALGOS, Value


def with_validation(plan: Plan, phases: tuple[PhaseEstimate, ...]) -> tuple[PhaseEstimate, ...]:
    """The phases with one of the evaluation, where that is what failed.

    Samples for a prompt, and prompts at a time, do not move it: the engine's cache is a share of the card, and what does not fit in it
    waits (volcengine/verl v0.7.0 trainer/ppo/ray_trainer.py: _validate calls generate_sequences, as a step does).
    """
    rollout = next((one for one in phases if one.phase == "rollout"), None)
    told = plan.values.get("phase") == "eval" and "eval" not in plan.phases
    if rollout is None or not (told and plan.online and _shares_cards(plan.values)):
        return phases
    return (*phases, replace(rollout, phase="eval"))


def by_engine(facts: Facts) -> bool:
    """Whether an evaluation of this run is a pass of the engine on the trainer's cards."""
    own = facts.framework is not None and "eval" in facts.framework.phases
    return not own and facts.values.get("algo") in ONLINE_ALGOS and _shares_cards(facts.values)


def _shares_cards(values: Mapping[str, Value]) -> bool:
    return values.get("rollout_engine") not in (None, "hf") and values.get("rollout_mode") != "server"
