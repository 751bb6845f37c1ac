"""What stands beside the figure of the pool that failed, in whatever language it is told."""

from __future__ import annotations

from diagnose.types import Diagnosis, PhaseEstimate, PoolEstimate
from diagnose.units import GIB
from diagnose.vocabulary import OTHER_POOL


def other_out(diagnosis: Diagnosis, pool: PoolEstimate) -> PoolEstimate | None:
    """The other pool than this one of a run that failed, where it surely runs out by the estimate."""
    other = diagnosis.estimate.pool(OTHER_POOL[pool.pool])
    return other if diagnosis.kind and other and other.phases and other.verdict() == "out" else None


def counted_beyond(diagnosis: Diagnosis, phase: PhaseEstimate) -> float | None:
    """GiB that a message counts on the node, where they are more than the settings come to in this phase."""
    used = diagnosis.facts.number("node_used_gb")
    return used if diagnosis.pool == "host" and used and used * GIB > phase.bytes else None
