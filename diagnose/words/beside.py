"""What stands beside the figure of the pool that failed, in whatever language it is told."""

from __future__ import annotations

from typing import NamedTuple

from diagnose.outlived import late_state
from diagnose.types import Diagnosis, PhaseEstimate, PoolEstimate
from diagnose.units import GIB
from diagnose.vocabulary import OTHER_POOL

_FULL = 0.9  # of the card: a phase below it is not explained by what is in it


def other_out(diagnosis: Diagnosis, pool: PoolEstimate) -> PoolEstimate | None:
    """The other pool than this one of a run that failed, where it surely runs out by the estimate."""
    other = diagnosis.estimate.pool(OTHER_POOL[pool.pool])
    return other if diagnosis.kind and other and other.phases and other.verdict() == "out" else None


def counted_beyond(diagnosis: Diagnosis, phase: PhaseEstimate) -> float | None:
    """GiB that a message counts on the node, where they are more than the settings come to in this phase."""
    used = diagnosis.facts.number("node_used_gb")
    return used if diagnosis.pool == "host" and used and used * GIB > phase.bytes else None


class Before(NamedTuple):
    """Bytes of the state, and of the phase without it."""

    state: int
    rest: int


def before_state(diagnosis: Diagnosis, pool: PoolEstimate, phase: PhaseEstimate) -> Before | None:
    """What the failing phase takes before Adam has a state, where that fits and the second step is where it failed."""
    if pool.pool != "gpu" or pool.limit is None or diagnosis.kind is None or phase.measured is not None:
        return None
    step, passed = diagnosis.facts.number("step"), diagnosis.facts.flag("steps_passed") is True
    second = step == 2 or (passed and step in (None, 1))
    state = late_state(diagnosis.facts, phase) if second else 0
    rest = phase.bytes - state
    return Before(state, rest) if state and rest <= pool.limit and phase.bytes >= _FULL * pool.limit else None
