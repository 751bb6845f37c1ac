"""What stands beside the figure of the pool that failed, in whatever language it is told."""

from __future__ import annotations

from typing import NamedTuple

from diagnose.types import Diagnosis, PhaseEstimate, PoolEstimate
from diagnose.units import GIB
from diagnose.vocabulary import OTHER_POOL

_OF_TORCH = (None, "none", "ddp", "fsdp", "fsdp2")
_STATE = ("actor_optimizer", "critic_optimizer")
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
    """What the failing phase takes before Adam has a state, where that fits and the second step is where it failed.

    torch's optimizers make it when they step for the first time (torch 2.6 optim/adam.py: _init_group), DeepSpeed's and Megatron's before
    training (runtime/zero/stage3.py: initialize_optimizer_states; core/optimizer/distrib_optimizer.py).
    """
    if pool.pool != "gpu" or pool.limit is None or diagnosis.kind is None or phase.measured is not None:
        return None
    step, passed = diagnosis.facts.number("step"), diagnosis.facts.flag("steps_passed") is True
    second = step == 2 or (passed and step in (None, 1))
    if not second or diagnosis.facts.values.get("strategy") not in _OF_TORCH:
        return None
    state = sum(term.bytes for term in phase.terms if term.id in _STATE)
    rest = phase.bytes - state
    return Before(state, rest) if state and rest <= pool.limit and phase.bytes >= _FULL * pool.limit else None
