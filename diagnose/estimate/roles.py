"""On whose cards each phase runs where critic, reference or reward model have cards of their own, and what then stands there."""

from __future__ import annotations

from dataclasses import replace

from diagnose.batch import whole
from diagnose.estimate.once import once
from diagnose.estimate.plan import Plan
from diagnose.estimate.residents import PLACES, runs_on, stands_on
from diagnose.estimate.spread import spread
from diagnose.types import Term

_ALIKE = 0.1  # of the size: a head more or a table less


def on_cards(plan: Plan, phase: str) -> Plan:
    """The plan of the cards on which this phase runs: theirs may be another number than the actor's."""
    return of_role(plan, runs_on(phase, plan.values) if plan.online else "actor")


def role_of(plan: Plan, what: str) -> str:
    """The role on whose cards a resident stands."""
    role = what.partition("_")[0]
    return stands_on(role, plan.values) if plan.online and f"{role}_place" in PLACES else "actor"


@once
def of_role(plan: Plan, role: str) -> Plan:
    """The plan of the cards of one role."""
    gpus = None if role == "actor" else whole(plan.values, f"{role}_gpus")
    if gpus is None or gpus == plan.gpus or plan.stage:
        return plan
    laid_out = spread(
        plan.model, plan.shape, plan.values, plan.does, gpus=gpus, capacity=plan.capacity, online=plan.online
    )
    return replace(plan, split=laid_out.everything, trains=laid_out.trained, gpus=laid_out.gpus)


def at_own_stage(plan: Plan, id: str) -> Plan:
    """The plan of a model without gradients that has a ZeRO stage of its own."""
    stage = plan.values.get(id)
    return replace(plan, split=replace(plan.split, stage=stage)) if isinstance(stage, int) else plan


@once
def as_critic(plan: Plan) -> Plan:
    """The plan of a critic that has a number a token in the place of a head that is a matrix of its own."""
    if plan.does.get("critic_head") != "narrow" or plan.model.tied or "critic_b" in plan.values:
        return plan
    head = plan.shape.embedding - plan.model.hidden - 1  # a number a token is a product and a bias
    shape = replace(plan.shape, root=plan.shape.root - head, parameters=plan.shape.parameters - head)
    split = replace(plan.split, dense=plan.split.dense - head / plan.whole("tp") / plan.whole("pp"))
    trains = split if plan.trains == plan.split else plan.trains
    return replace(plan, shape=shape, split=split, trains=trains)


def of_critic(plan: Plan, terms: list[Term]) -> list[Term]:
    """What a pass of the critic needs where that is a model of another size, of whose shape nothing else is known.

    Layers and widths grow together, and parameters with both, so that layers × width go with parameters to the power of 2/3; low: as
    the parameters do; high: as in the actor.
    """
    ratio = plan.critic_share
    if abs(ratio - 1) < _ALIKE:
        return terms
    each = ratio ** (2 / 3)
    return [
        term._replace(
            low=round(term.low * min(ratio, 1.0)),
            bytes=round(term.bytes * each),
            high=round(term.high * max(each, 1.0)),
            how=f"{term.how} × {each:.2g} for the critic's own size",
            moved_by=(*term.moved_by, "critic_b"),
        )
        for term in terms
    ]
