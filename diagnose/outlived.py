"""A run that got further than its estimate allows: then what was read is not what ran, or the estimate is wrong of it."""

from __future__ import annotations

from diagnose.types import Diagnosis, Estimate, Facts, PhaseEstimate
from diagnose.units import gib
from diagnose.vocabulary import PHASE_GROUPS, PHASES

TITLE = "The run got further than this estimate allows"


def went_through(facts: Facts) -> bool:
    """Whether steps of the run went through before it failed."""
    return facts.flag("steps_passed") is True or (facts.number("step") or 0) > 1


def outlived(facts: Facts, before: Estimate, phase: str | None) -> PhaseEstimate | None:
    """The phase of a step that needs more of a card than it has, with its whole band, though steps went through; None where none does.

    Not the ``phase`` that failed: its rows may have grown. Where nothing names that one, not the highest.
    """
    gpu = before.gpu
    if not went_through(facts) or gpu is None or gpu.limit is None or not gpu.phases:
        return None
    failed = phase or gpu.peak.phase
    over = [
        one
        for one in gpu.phases
        if one.phase != failed
        and one.measured is None
        and one.low > gpu.limit
        and PHASE_GROUPS.get(one.phase) != "sometimes"
    ]
    return max(over, key=lambda one: one.low, default=None)


def told(diagnosis: Diagnosis) -> str:
    """What contradicts what, and where to look; empty where nothing does."""
    gpu, over = diagnosis.estimate.gpu, outlived(diagnosis.facts, diagnosis.estimate, diagnosis.phase)
    if over is None or gpu is None or gpu.limit is None:
        return ""
    return (
        f"By it the {PHASES[over.phase]} needs at least {gib(over.low)} GiB of {gib(gpu.limit)}, yet steps went through. Either something "
        "read here is not what ran, or is not in the paste: compare model, cards, sharding and offloads with the launch command. Or the "
        "estimate is wrong of this run: do not trust its figures before that is settled."
    )
