"""Memory in bytes: terms, phases, pools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from diagnose.types.measured import Measured
from diagnose.units import tenths
from diagnose.vocabulary import Pool

# facts whose lack says nothing of a pool's figure, or only of its limit
_NOT_OF: dict[Pool, tuple[str, ...]] = {
    "gpu": ("gpu_mem_gib", "gpus_per_node", "host_ram_gb"),
    "host": ("gpu_mem_gib", "gpu_memory_utilization"),
}


class Term(NamedTuple):
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


# of an engine's share: so little is within the doubt of what its start takes; our choice
_UNSURE = 0.05


@dataclass(frozen=True, slots=True)
class CacheRoom:
    """What an engine's start leaves its KV cache on one GPU, in bytes.

    Of its ``share`` of the card the engine's ``weights`` and the ``work`` of its largest step come first, and ``others``: what stands
    there of the trainer and counts against it. ``left`` is below 0 where they take more. ``row`` is the cache of one sequence of
    ``tokens``, the longest that the engine must be able to hold; 0 where no limit is known. ``doubt`` is how much less ``left`` may be,
    ``each`` what one token takes. An engine that ``refuses`` does not start with room for less than that sequence.
    ``shown`` is what the log says is left; it outranks ``left``. ``unseen`` stood on the card as well, by the log. The whole
    ``card`` is so large.
    """

    share: int
    weights: int
    work: int
    others: int
    left: int
    row: int
    tokens: int
    doubt: int
    each: float = 0.0
    refuses: bool = True
    shown: int | None = None
    unseen: int = 0
    card: int = 0

    @property
    def rest(self) -> int:
        """Bytes for the cache: as the log shows, else as computed."""
        return self.left if self.shown is None else self.shown

    @property
    def _least(self) -> int:
        return self.rest - (self.doubt if self.shown is None else 0)

    @property
    def verdict(self) -> str:
        """``fits`` where the engine surely starts, ``out`` where it does not, ``close`` between."""
        least = self.row if self.refuses else 0
        if self._least > least:
            return "fits"
        return "close" if self.rest > 0 and self.rest >= least else "out"

    @property
    def holds(self) -> int:
        """About how many tokens have room at a time."""
        return max(0, int(self.rest / self.each)) if self.each else 0

    @property
    def enough(self) -> bool:
        """Whether one longest sequence surely has room."""
        return self._least > self.row

    @property
    def filled(self) -> bool:
        """Whether weights and the largest step leave its share no longest sequence, or less than the estimate is sure of."""
        return self.share - self.weights - self.work <= max(self.row, _UNSURE * self.share)

    @property
    def explains(self) -> bool:
        """Whether the settings explain an engine that found no room."""
        return not self.enough or (self.shown is None and self.filled)


@dataclass(frozen=True)
class PhaseEstimate:
    """The worst moment of one phase in one pool. ``bytes`` is the sum of its terms.

    ``measured`` is what the log shows it to take, in bytes: it outranks the sum of the terms. ``doubt`` works out low and high where the
    doubts of the terms do not simply add up. ``cached`` are bytes that counters show beside that sum and nothing needs: blocks that the
    allocator hands back before it gives up.
    """

    phase: str
    moment: str
    terms: tuple[Term, ...]
    measured: int | None = None
    doubt: Callable[[], tuple[int, int]] | None = field(default=None, compare=False, repr=False)
    cached: int = 0
    bytes: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bytes", sum([term.bytes for term in self.terms]))

    @cached_property
    def band(self) -> tuple[int, int]:
        """Low and high of the terms together, worked out when they are first asked for."""
        if self.doubt:
            return self.doubt()
        return sum(term.low for term in self.terms), sum(term.high for term in self.terms)

    @property
    def low(self) -> int:
        return self.band[0]

    @property
    def high(self) -> int:
        return self.band[1]

    @property
    def need(self) -> int:
        """What it takes: measured, else computed."""
        return self.bytes if self.measured is None else self.measured

    @property
    def computed(self) -> PhaseEstimate:
        """The same by the estimate alone."""
        return self if self.measured is None else replace(self, measured=None)

    @property
    def disagrees(self) -> bool:
        """Whether what was measured lies outside the band of what is computed."""
        return self.measured is not None and not self.low <= self.measured <= self.high

    @property
    def bounds(self) -> tuple[int, int]:
        """Low and high of what it takes; what was measured has no band."""
        return (self.low, self.high) if self.measured is None else (self.measured, self.measured)

    @property
    def shown(self) -> str:
        """The peak in GiB with one decimal, from its rounded terms, as every table and sentence shows it."""
        return f"{sum(tenths(term.bytes) for term in self.terms) / 10:,.1f}"


@dataclass(frozen=True)
class PoolEstimate:
    """One pool over all phases, in the order of a step. ``capacity`` is bytes, ``limit`` the bytes at which it kills.

    ``cards`` is how many train, ``sharded`` whether they share weights, gradients and Adam's state. Where nobody tells how many there
    are ``otherwise`` is the same run on another number, on which the bands hold as well.
    """

    pool: Pool
    phases: tuple[PhaseEstimate, ...]
    capacity: int | None = None
    limit: int | None = None
    capacity_why: str = ""
    limit_why: str = ""
    cards: int = 0
    sharded: bool = False
    otherwise: PoolEstimate | None = None

    @cached_property
    def peak(self) -> PhaseEstimate:
        return max(self.phases, key=lambda phase: phase.bytes)

    @property
    def worst(self) -> PhaseEstimate:
        """The phase that takes most, by what was measured where something was."""
        return max(self.phases, key=lambda phase: phase.need)

    @property
    def deciding(self) -> PhaseEstimate:
        """The phase that the verdict hangs on: the worst; where that one surely fits and another may not, the one that may take most."""
        if self.verdict() != "close" or self.verdict(self.worst) == "close":
            return self.worst
        return max(self.phases, key=lambda phase: phase.bounds[1])

    def highest(self, among: Sequence[str] = ()) -> PhaseEstimate:
        """The highest of some phases; of all where none of them is there."""
        return max(
            (phase for phase in self.phases if phase.phase in among), key=lambda one: one.bytes, default=self.peak
        )

    def phase(self, id: str) -> PhaseEstimate | None:
        return next((phase for phase in self.phases if phase.phase == id), None)

    @property
    def only_out(self) -> str | None:
        """The one phase that surely runs out; None where there is none, or more than one."""
        out = [phase.phase for phase in self.phases if self.verdict(phase) == "out"]
        return out[0] if len(out) == 1 else None

    @property
    def runs_out(self) -> bool:
        """Whether it surely does, or, where nobody tells the number of cards, would on the one that is taken."""
        over = self.limit is not None and self.worst.need > self.limit
        return self.verdict() == "out" or (over and self.otherwise is not None)

    def verdict(self, phase: PhaseEstimate | None = None) -> str:
        """``out``, ``close`` (the band crosses the limit with its middle below it), ``fits`` or ``unknown``.

        Of cards whose number nobody tells there may be enough.
        """
        if self.limit is None:
            return "unknown"
        phases = (phase,) if phase else self.phases
        if over := [p for p in phases if p.need > self.limit]:
            surely = self.otherwise is None and any(p.bounds[0] > self.limit for p in over)
            return "out" if surely else "close"
        return "close" if any(p.bounds[1] > self.limit for p in phases) else "fits"


@dataclass(frozen=True, slots=True)
class Compared:
    """A reading of the log beside the estimate of the same thing, in bytes; None where nothing is computed that it counts.

    ``phase`` is the phase that it was held against, ``total`` what the whole phase takes by it; a ``floor`` is the least of that.
    """

    measured: Measured
    estimate: int | None = None
    phase: str = ""
    total: int | None = None
    floor: bool = False

    def of(self, pool: Pool, phase: PhaseEstimate) -> bool:
        return self.measured.pool == pool and self.phase == phase.phase

    @property
    def difference(self) -> int | None:
        """Measured less computed."""
        return None if self.estimate is None else self.measured.bytes - self.estimate


@dataclass(frozen=True, slots=True)
class Estimate:
    """Memory per pool. ``missing`` names the facts without which a pool cannot be computed (then that pool is None).

    ``torch_allocated`` and ``torch_reserved`` are the trainer process's own peaks in bytes, without an engine's pool.
    ``torch_of`` is the first of each phase.
    ``device_used`` is what the driver shows of a GPU at its worst moment, with what the allocator caches.
    ``host_used`` is what counters of used memory show of a node at its worst moment: they leave shared pages out.
    ``compared`` are the readings of the log beside it.
    """

    gpu: PoolEstimate | None = None
    host: PoolEstimate | None = None
    torch_allocated: int | None = None
    torch_reserved: int | None = None
    torch_of: Mapping[str, int] = field(default_factory=dict)
    device_used: int | None = None
    host_used: int | None = None
    missing: tuple[str, ...] = ()
    compared: tuple[Compared, ...] = ()

    def pool(self, pool: Pool) -> PoolEstimate | None:
        return self.gpu if pool == "gpu" else self.host

    def guessed(self, pool: Pool) -> tuple[str, ...]:
        """The facts of this pool that nothing says, so that a guess stands in its figure."""
        return tuple(dict.fromkeys(id for id in self.missing if id not in _NOT_OF[pool]))
