"""On whose cards each phase runs where critic, reference or reward model have cards of their own, and what then stands there."""

from __future__ import annotations

from dataclasses import replace

from diagnose.batch import whole
from diagnose.estimate.plan import Plan
from diagnose.estimate.residents import runs_on
from diagnose.estimate.spread import spread


def on_cards(plan: Plan, phase: str) -> Plan:
    """The plan of the cards on which this phase runs: theirs may be another number than the actor's. Made once for each role."""
    role = runs_on(phase, plan.values) if plan.online else "actor"
    gpus = None if role == "actor" else whole(plan.values, f"{role}_gpus")
    if gpus is None or gpus == plan.gpus or plan.stage:
        return plan
    key = f"cards of {role}"
    if key not in plan.known:
        laid_out = spread(
            plan.model, plan.shape, plan.values, plan.does, gpus=gpus, capacity=plan.capacity, online=plan.online
        )
        plan.known[key] = replace(plan, split=laid_out.everything, trains=laid_out.trained, gpus=laid_out.gpus)
    known: Plan = plan.known[key]
    return known
