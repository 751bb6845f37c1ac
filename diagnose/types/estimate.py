"""Memory in bytes: terms, phases, pools."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.units import tenths
from diagnose.vocabulary import Pool


@dataclass(frozen=True, slots=True)
class Term:
    """One named amount of memory in one phase of one pool, in bytes; ``low`` and ``high`` are its band.

    ``family``: held, work, engine or fixed. ``how`` is the formula with the numbers put in; ``moved_by`` the facts in it.
    """

    id: str
    title: str
    family: str
    bytes: int
    low: int
    high: int
    how: str
    source: str
    moved_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PhaseEstimate:
    """The worst moment of one phase in one pool."""

    phase: str
    moment: str
    terms: tuple[Term, ...]

    @property
    def bytes(self) -> int:
        return sum([term.bytes for term in self.terms])

    @property
    def low(self) -> int:
        return sum([term.low for term in self.terms])

    @property
    def high(self) -> int:
        return sum([term.high for term in self.terms])

    @property
    def shown(self) -> str:
        """The peak in GiB with one decimal, from its rounded terms, as every table and sentence shows it."""
        return f"{sum(tenths(term.bytes) for term in self.terms) / 10:,.1f}"


@dataclass(frozen=True, slots=True)
class PoolEstimate:
    """One pool over all phases, in the order of a step. ``capacity`` is bytes, ``limit`` the bytes at which it kills."""

    pool: Pool
    phases: tuple[PhaseEstimate, ...]
    capacity: int | None = None
    limit: int | None = None
    capacity_why: str = ""
    limit_why: str = ""

    @property
    def peak(self) -> PhaseEstimate:
        return max(self.phases, key=lambda phase: phase.bytes)

    def phase(self, id: str) -> PhaseEstimate | None:
        return next((phase for phase in self.phases if phase.phase == id), None)

    def verdict(self, phase: PhaseEstimate | None = None) -> str:
        """``out``, ``close`` (the band crosses the limit with its middle below it), ``fits`` or ``unknown``."""
        if self.limit is None:
            return "unknown"
        phases = (phase,) if phase else self.phases
        if any(p.bytes > self.limit for p in phases):
            return "out" if any(p.low > self.limit for p in phases) else "close"
        return "close" if any(p.high > self.limit for p in phases) else "fits"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Memory per pool. ``missing`` names the facts without which a pool cannot be computed (then that pool is None).

    ``torch_allocated`` and ``torch_reserved`` are the trainer process's own peaks in bytes, without an engine's pool.
    """

    gpu: PoolEstimate | None = None
    host: PoolEstimate | None = None
    torch_allocated: int | None = None
    torch_reserved: int | None = None
    missing: tuple[str, ...] = ()

    def pool(self, pool: Pool) -> PoolEstimate | None:
        return self.gpu if pool == "gpu" else self.host
