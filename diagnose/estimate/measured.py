"""What the log measured beside what we compute, like with like: torch's counters against the trainer's own terms, the driver's
count against the whole phase, a part of the engine against its term.

A measured peak of a phase outranks the computed one. A reading inside a phase, of the first step (before Adam's state exists) or of
a run that ran out later bounds the need from below: it counts where it is higher; so does a reading of the node that leaves
page-locked copies out. Nothing is stretched to meet it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from diagnose.estimate.engine import token_bytes
from diagnose.estimate.engine_weights import shares_base, weight_bytes
from diagnose.estimate.host import page_locked_bytes
from diagnose.estimate.phases import reserved_bytes, trainer_bytes
from diagnose.estimate.plan import Plan
from diagnose.types import Compared, Measured, PhaseEstimate, PoolEstimate
from diagnose.vocabulary import PARTS

_TORCH: dict[str, Callable[[PhaseEstimate], int]] = {"allocated": trainer_bytes, "reserved": reserved_bytes}
_EDGES = ("before", "after")
# the driver's count outranks torch's, and what torch took outranks what it uses
_ORDER = ("device", "reserved", "allocated", "host", "host_used")


def compare(
    plan: Plan, measured: tuple[Measured, ...], gpu: PoolEstimate, host: PoolEstimate | None
) -> tuple[Compared, ...]:
    """Each reading with the estimate of the same thing, where there is one."""
    return tuple(_compared(plan, one, gpu, host) for one in measured)


def with_measured(pool: PoolEstimate, compared: tuple[Compared, ...], *, failed: bool) -> PoolEstimate:
    """The pool with what was measured in its phases. ``failed``: the run ran out in this pool after the readings."""
    told = [[one for one in compared if one.of(pool.pool, phase)] for phase in pool.phases]
    if not any(told):
        return pool
    return replace(pool, phases=tuple(_phase(phase, own, failed) for phase, own in zip(pool.phases, told, strict=True)))


def _phase(phase: PhaseEstimate, compared: list[Compared], failed: bool) -> PhaseEstimate:
    whole = sorted(
        (one for one in compared if one.total is not None and not one.floor),
        key=lambda one: (_ORDER.index(one.measured.counter), -(one.total or 0)),
    )
    exact = whole[0].total if whole and not failed and not _first_step(whole[0].measured) else None
    lowest = max((one.total for one in compared if one.total is not None), default=0)
    if exact is None:
        return replace(phase, measured=lowest) if lowest > phase.bytes else phase
    return replace(phase, measured=max([exact, *(one.total or 0 for one in compared if one.floor)]))


def _first_step(measured: Measured) -> bool:
    return measured.step is not None and measured.step <= 1


def _compared(plan: Plan, one: Measured, gpu: PoolEstimate, host: PoolEstimate | None) -> Compared:
    if one.counter == "kv_tokens":
        one = replace(one, bytes=round(one.tokens * token_bytes(plan)))
    if one.counter == "engine_weights" and shares_base(plan):
        return Compared(one, estimate=round(weight_bytes(plan)))
    if one.counter in (*PARTS, "kv_tokens", "engine_freed"):
        return Compared(one, estimate=_part(one.counter, gpu))
    if one.counter in ("host", "host_used"):
        phase = host.phase(one.phase) if host and one.phase else None
        if phase is None:
            return Compared(one)
        unseen = page_locked_bytes(plan, phase) if one.counter == "host_used" else 0
        return Compared(one, phase.bytes - unseen, phase.phase, one.bytes, floor=unseen > 0)
    if one.counter == "device":
        phase = gpu.phase(one.phase) if one.phase else None
        if phase is None:
            return Compared(one)
        inside = phase.bytes if one.moment not in _EDGES else None
        return Compared(one, inside, phase.phase, one.bytes, floor=one.moment != "peak")
    return _of_torch(one, gpu) if one.counter in _TORCH else Compared(one)


def _of_torch(one: Measured, gpu: PoolEstimate) -> Compared:
    """A peak that no phase is named for is the largest of all phases; at a phase's edge stands what stays there.

    Of reserved bytes nobody can tell which are only cached: all count as taken.
    """
    count = _TORCH[one.counter]
    if one.with_engine and one.phase != "load" and _part("engine_freed", gpu):
        return Compared(one)
    if one.moment == "peak":
        phase = gpu.phase(one.phase) if one.phase else max(gpu.phases, key=count)
        if phase is None:
            return Compared(one)
        shown = phase.bytes + (phase.cached if one.counter == "reserved" else 0)
        return Compared(one, count(phase), phase.phase, shown + one.bytes - count(phase))
    phase = gpu.phase(one.phase) if one.phase else None
    if phase is None or one.moment not in _EDGES or one.counter != "allocated":
        return Compared(one)
    return Compared(one, sum(term.bytes for term in phase.terms if term.family == "held"), phase.phase)


def _part(counter: str, gpu: PoolEstimate) -> int | None:
    """The engine's terms that a line counts: one of them, or weights and cache together; None where nobody computes them."""
    ids = {"kv_tokens": ("kv_pool",), "engine_freed": ("engine_weights", "kv_pool")}.get(counter, (counter,))
    for phase in (gpu.phase("rollout"), gpu.phase("init")):
        if phase and (terms := [term.bytes for term in phase.terms if term.id in ids and term.family == "engine"]):
            return sum(terms)
    return None
