"""What failed, as advice sees it: the facts, the estimate of the run as it is, and the pool and phase in which a saving counts."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from diagnose.allocator import alone_on_card, foreign_gib, fragmented
from diagnose.estimate import cache_room, estimate, plan_of, turning_length
from diagnose.facts.hardware.memory_limits import job_limited
from diagnose.facts.trainer.versions import last_day, possible
from diagnose.held import weights_fit
from diagnose.knowledge.records import Framework
from diagnose.outlived import went_through
from diagnose.possible import possible_phases
from diagnose.prescribe.full_cards import server_among, start_full
from diagnose.prescribe.in_tower import in_tower
from diagnose.prescribe.in_use import with_unexplained
from diagnose.prescribe.shown_in_limit import uncapped
from diagnose.types import CacheRoom, Estimate, Fact, Facts, Paste, PhaseEstimate
from diagnose.units import from_gib
from diagnose.vocabulary import NO_CACHE, OF_CARDS, OFFLINE_ALGOS, ONLINE_ALGOS, Pool, Value

if TYPE_CHECKING:
    from diagnose.prescribe.writing import Written

# A peak in bytes says nothing about these: one wants more memory for the engine, one compares what is free at a moment
# before any step, one is a leak, one is a file system.
NOT_A_PEAK = (NO_CACHE, "vllm_free_memory_too_low", "memory_growth", "host_shm")
# A saving below this share of the phase is lost in the rounding of what is shown.
LEAST_GAIN = 0.01
# Below this share of the limit in every phase the settings that are known do not explain the failure.
_EXPLAINED = 0.7
# A measured use above this share of the limit is too near to it to be called a fit.
ROOM = 0.95
# The size that most runs of the cases have: a 7B model on one machine of eight cards.
_USUAL: dict[str, Value] = {"params_b": 7, "n_gpus": 8}
_TRAINER_ALONE = ("load", "optimizer_step", "checkpoint")


@dataclass(frozen=True)
class Situation:
    """One failing run. ``phase`` is None when nothing settles it; then the highest phase of the pool counts.

    ``written`` keeps the steps of levers that were written down for it (trial.py), which are asked for again and again.
    """

    facts: Facts
    before: Estimate
    kind: str | None
    phase: str | None
    pool: Pool | None
    paste: Paste
    fallback: Framework | None = None
    written: dict[tuple[object, ...], Written | None] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    @cached_property
    def values(self) -> dict[str, Value]:
        """What conditions are tested on: the facts, with kind and phase as they were settled."""
        values = {id: value for id, value in self.facts.values.items() if id not in ("oom_kind", "phase")}
        if self.kind and self.kind != "other":
            values["oom_kind"] = self.kind
        else:
            # what the estimate sees run out counts as the plain failure of that pool
            values["oom_kind"] = {"gpu": "gpu_oom", "host": "host_ram"}.get(self.pool or "", "other")
        if self.phase:
            values["phase"] = self.phase
        if str(values.get("algo", "")).startswith(OFFLINE_ALGOS):
            values.pop("sleep_level", None)  # rows of a data set need no engine that sleeps
        return values

    @cached_property
    def signs(self) -> dict[str, Value]:
        """What the ranks of levers are tested on: the values, and what follows from printed figures and from the estimate."""
        found: dict[str, Value | None] = {
            "steps_passed": True if (self.facts.number("step") or 0) > 1 else None,
            "fragmented": fragmented(self.facts),
            "foreign_gib": foreign_gib(self.facts) if self.pool == "gpu" else None,
            "card_to_itself": alone_on_card(self.facts),
            "own_neighbour": self._own_neighbour,
            "explained": self.explained,
            "images_uncapped": uncapped(self.facts) or None,
            "in_tower": True if self.pool == "gpu" and in_tower(self.paste) else None,
            "weights_fit": weights_fit(self.facts),
            "job_limited": True if job_limited(self.facts) else None,
            "message": self._message,
            "server_among": server_among(self.kind, self.facts),
            "start_full": True if self.room and start_full(self.before.gpu, self.facts, self.room) else None,
            "judged": not self.before.missing and self._has_limit,
        }
        return {**{id: value for id, value in found.items() if value is not None}, **self.values}

    @property
    def _as_usual(self) -> Facts:
        """The facts with the usual size where the text tells none."""
        return self.facts.with_facts(
            Fact(id, value, "assumed") for id, value in _USUAL.items() if id not in self.facts.values
        )

    @property
    def _own_neighbour(self) -> bool | None:
        """Whether what others hold on the card may be the run's own engine, which shares it in a process of its own."""
        if "others_gib" in self.values or self.facts.engine_awake:
            return self.facts.engine_awake or None  # the size of it tells that it is, or somebody says whose it is
        if self.values.get("rollout_mode") != "colocated" or self.values.get("algo") not in ONLINE_ALGOS:
            return None
        plan = plan_of(self._as_usual, self.fallback)
        return (plan.number("processes_per_gpu") or 1) > 1 if plan else None

    @property
    def _message(self) -> str:
        told = self.facts.stated.get("oom_kind")
        own = (hit.signature for hit in self.facts.hits if told and hit.span == told.span)
        return next((signature.slug for signature in own if told and signature.title == told.written), "")

    @cached_property
    def explained(self) -> bool | None:
        """Whether the settings that are known explain that a card ran out; None when that cannot be told."""
        return explained(self.before, self.kind, self.pool)

    @cached_property
    def day(self) -> datetime.date | None:
        """The last day that the log's lines bear: what came later the run does not have."""
        return last_day(self.paste)

    @cached_property
    def trainer_versions(self) -> tuple[str, str]:
        """The versions of the framework that the text leaves possible: from the first on and before the second; "" is open."""
        return possible(self.facts.framework, self.paste)

    @property
    def supposed(self) -> bool:
        """Whether its pool is only the likelier one: neither the text nor the estimate says which memory ran out."""
        pool = self.before.pool(self.pool) if self.pool else None
        return self.kind == "other" and self.phase is None and not (pool and pool.verdict() == "out")

    @property
    def fits_cards(self) -> bool:
        """Whether the cards have room in every phase by the estimate."""
        return self.before.gpu is not None and self.before.gpu.verdict() == "fits"

    @property
    def framework_known(self) -> bool:
        return self.facts.read_by_keys

    @cached_property
    def counted(self) -> frozenset[str]:
        """The facts of which the estimate speaks: in a term of any phase, or in a condition of what stays where."""
        pools = (pool for pool in (self.before.gpu, self.before.host) if pool)
        terms = (term.moved_by for pool in pools for phase in pool.phases for term in phase.terms)
        framework = self.facts.framework or self.fallback
        residents = (entry.when for entry in framework.residents) if framework else ()
        behaviours = (entry.when for entry in framework.behaviours) if framework else ()
        return frozenset(chain(*terms, *residents, *behaviours))

    @cached_property
    def failing(self) -> PhaseEstimate | None:
        """The failing phase of the run as it is; None when no peak can be computed for this failure."""
        return None if self.kind in NOT_A_PEAK or self.facts.engine_card else self.watched(self.before)

    @cached_property
    def possible(self) -> tuple[str, ...]:
        """The phases in which alone it can have failed, where nothing names the phase."""
        return possible_phases(self.facts, self.before.pool(self.pool)) if self.phase is None and self.pool else ()

    def watched(self, estimate: Estimate) -> PhaseEstimate | None:
        """The phase of an estimate of this run, as it is or changed, whose bytes decide."""
        return watched(estimate, self.pool, self.phase, self.possible)

    @cached_property
    def usual(self) -> Situation | None:
        """The same failure of a run of usual size, where model or cards are not known: whether a change acts on the phase, without figures.

        Only of phases without rows and without an engine at work: in the others what is not known decides what counts.
        """
        if self.failing is not None or self.phase not in _TRAINER_ALONE or self.pool is None or self.kind in NOT_A_PEAK:
            return None
        facts = self._as_usual
        before = estimate(facts, self.fallback)
        return replace(self, facts=facts, before=before) if watched(before, self.pool, self.phase) else None

    @cached_property
    def room(self) -> CacheRoom | None:
        """What the engine's start leaves its cache, where it found no room for one and the settings that are known explain it."""
        found = cache_room(plan_of(self.facts, self.fallback), self.facts.measured) if self.kind == NO_CACHE else None
        return found if found and found.explains else None

    @cached_property
    def runs_out_from(self) -> int | None:
        """The real response length in tokens from which the failing phase of the run as it is runs out."""
        if self.failing is None or self.limit is None:
            return None
        return turning_length(self.facts, self.limit, self.failing.phase, self.fallback)

    @cached_property
    def unexplained(self) -> int:
        """Bytes that message or log measured in the failing phase beyond what the settings explain; 0 when nothing measured it."""
        if self.failing is None:
            return 0
        used = from_gib(self.facts.number("node_used_gb") or 0) if self.pool == "host" else self._refused()
        return max(0, used - self.failing.bytes, (self.failing.measured or 0) - self.failing.bytes)

    @cached_property
    def overdrawn(self) -> int:
        """Bytes by which the failing phase is above what was in use and asked for, though the run went through it in steps before.

        Then its figures are too high by about as much: what saves more than was lacking is enough.
        """
        if self.pool != "gpu" or self.failing is None or not went_through(self.facts) or self.phase not in OF_CARDS:
            return 0
        return max(0, self.failing.bytes - used) if (used := self._refused()) else 0

    def _refused(self) -> int:
        """Bytes in use on the card when it ran out and what was asked for; 0 unless the message says all and the phase is known."""
        total, free, asked = (self.facts.number(id) for id in ("gpu_total_gib", "gpu_free_gib", "tried_alloc_gib"))
        if self.phase is None or total is None or free is None or asked is None:
            return 0
        return from_gib(total - free + asked)

    def measured_verdict(self, after: PhaseEstimate) -> str:
        """What is left of the measured use once the saving is taken off; empty when nothing was measured.

        A measurement outranks the estimate: a band below the limit means little when the pool was full.
        """
        if not self.unexplained or self.limit is None:
            return ""
        left = self._in_all(after)
        return "out" if left > self.limit else "close" if left > self.limit * ROOM else "fits"

    def told(self, word: str) -> str:
        """The word of a change: not that it fits, where by the same figures the run that failed did."""
        pool = self.before.pool(self.pool) if self.pool and self.kind and not self.room else None
        explained = pool is None or self.failing is None or self.unexplained or pool.verdict(self.failing) != "fits"
        return word if explained or word != "fits" else "open"

    def seen(self, phase: PhaseEstimate | None) -> PhaseEstimate | None:
        """A phase with what was measured beyond the settings on top, as it is told beside the verdict."""
        return replace(phase, measured=self._in_all(phase)) if phase and self.unexplained else phase

    def _in_all(self, phase: PhaseEstimate) -> int:
        return with_unexplained(self.failing or phase, phase, self.unexplained, self.limit)

    @property
    def pass_unexplained(self) -> bool:
        """Whether the phase that is known to have failed needs much less by its estimate: even at its upper end, or than was in use.

        Then one of its passes takes more than it is taken for, and no figure speaks against making it smaller.
        """
        if self.phase is None or self.failing is None or not self.limit or self.pool != "gpu":
            return False
        open_part = self.limit * (1 - _EXPLAINED)
        return self.failing.high < self.limit - open_part or self.unexplained > open_part

    @property
    def _has_limit(self) -> bool:
        """Whether the pool that runs out has a limit that is known; where none does, the cards."""
        pool = self.before.pool(self.pool or "gpu")
        return pool is not None and pool.limit is not None

    @property
    def limit(self) -> int | None:
        pool = self.before.pool(self.pool) if self.pool else None
        return pool.limit if pool else None


def explained(before: Estimate, kind: str | None, pool: Pool | None) -> bool | None:
    """False when every phase leaves room though a card is said to have run out; None when that cannot be told."""
    gpu = before.gpu
    if pool == "host" or kind is None or kind in NOT_A_PEAK or before.missing:
        return None
    if gpu is None or not gpu.limit or not gpu.phases:
        return None
    return gpu.peak.bytes >= gpu.limit * _EXPLAINED


def watched(
    estimate: Estimate, pool: Pool | None, phase: str | None, among: tuple[str, ...] = ()
) -> PhaseEstimate | None:
    """The phase whose bytes decide: the failing one; when nothing names it the highest of some, or that on which the verdict hangs."""
    estimated = estimate.pool(pool) if pool else None
    if estimated is None or not estimated.phases:
        return None
    if phase:
        return estimated.phase(phase)
    return estimated.highest(among) if among else estimated.deciding


def verdict(estimate: Estimate, pool: Pool, phase: str | None) -> str:
    """The word on the watched phase; on the whole pool when nothing names the phase."""
    estimated = estimate.pool(pool)
    if estimated is None or not estimated.phases:
        return "unknown"
    return estimated.verdict(estimated.phase(phase) if phase else None)
