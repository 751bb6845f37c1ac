"""Memory of a run per pool and phase, from facts alone: ``estimate``, one pool of it, and what it takes for unknown lengths."""

from __future__ import annotations

from dataclasses import replace
from operator import add

from diagnose.estimate.capacity import left_by_others
from diagnose.estimate.engine import cache_room, free_before, missing_share
from diagnose.estimate.failed_row import with_failed_row
from diagnose.estimate.frozen import base_type_unknown
from diagnose.estimate.host import host_pool, used_bytes
from diagnose.estimate.lengths import assumed_lengths, turning_length
from diagnose.estimate.measured import compare, with_measured
from diagnose.estimate.phases import gpu_phases, inside_bytes, reserved_bytes, trainer_bytes
from diagnose.estimate.plan import Plan, behaviours_of, make_plan, plan_of
from diagnose.estimate.stages import staged
from diagnose.estimate.tokens import take
from diagnose.estimate.untold_cards import assumed_cards
from diagnose.estimate.untold_state import WHERE, place_untold
from diagnose.estimate.validation import with_validation
from diagnose.knowledge.records import Framework
from diagnose.types import Estimate, Facts, PhaseEstimate, PoolEstimate
from diagnose.vocabulary import POOL_OF_KIND, Pool

__all__ = [
    "Plan",
    "assumed_cards",
    "assumed_lengths",
    "behaviours_of",
    "cache_room",
    "estimate",
    "estimate_pool",
    "free_before",
    "plan_of",
    "turning_length",
    "with_failed_row",
]


def estimate(facts: Facts, fallback: Framework | None = None) -> Estimate:
    """The memory of this run. Without a recognised framework ``fallback`` says how it trains.

    ``missing`` names facts that would make it whole; a pool that cannot be computed at all is None.
    """
    plan, missing = make_plan(facts, fallback)
    if plan is None:
        return Estimate(missing=missing)
    gpu, host = _gpu_pool(plan, plan.phases), None if plan.serves or plan.otherwise else host_pool(plan)
    compared = compare(plan, facts.measured, gpu, host)
    failed = facts.values.get("oom_kind")
    seen = with_measured(gpu, compared, failed=failed is not None and POOL_OF_KIND.get(str(failed)) != "host")
    if plan.serves:  # what an engine puts on the host is not known, and no trainer's allocator counts anything
        used = max(phase.need for phase in seen.phases)
        return Estimate(gpu=seen, device_used=used, missing=_missing_of_server(plan), compared=compared)
    inside = [inside_bytes(plan, phase) for phase in gpu.phases]
    allocated = {phase.phase: trainer_bytes(phase) + more for phase, more in zip(gpu.phases, inside, strict=True)}
    return Estimate(
        gpu=seen,
        host=with_measured(host, compared, failed=failed is not None and POOL_OF_KIND.get(str(failed)) != "gpu")
        if host
        else None,
        compared=compared,
        torch_allocated=max(allocated.values()),
        torch_of=allocated,
        torch_reserved=max(map(add, map(reserved_bytes, gpu.phases), inside)),
        device_used=max(phase.need + (phase.cached if phase.measured is None else 0) for phase in seen.phases),
        host_used=max(used_bytes(plan, phase) for phase in host.phases) if host else None,
        missing=(*plan.missing, *_missing(plan), *(() if host else ("gpus_per_node",))),
    )


def estimate_pool(plan: Plan | None, pool: Pool, phase: str | None = None) -> Estimate:
    """The memory of a run in one pool alone: what is tried by the dozen needs no more, and may ask for the other one later.

    On a GPU of one ``phase`` alone, where it is named and the run has it.
    """
    if plan is None:
        return Estimate()
    if pool == "host":
        return Estimate(host=None if plan.serves or plan.otherwise else host_pool(plan))
    return Estimate(gpu=_gpu_pool(plan, (phase,) if phase in plan.phases else plan.phases))


def _gpu_pool(plan: Plan, phases: tuple[str, ...]) -> PoolEstimate:
    own = with_validation(plan, _of_neediest_stage([gpu_phases(stage, phases) for stage in staged(plan)]))
    limit, why = left_by_others(plan.capacity, plan.number("others_gib"))
    pool = PoolEstimate(
        pool="gpu",
        phases=own,
        capacity=plan.capacity,
        limit=limit,
        capacity_why=plan.capacity_why,
        limit_why=why,
        cards=plan.gpus,
        sharded=plan.split.stage >= 3,
    )
    return _on_all(pool, tuple(_gpu_pool(other, phases) for other in plan.otherwise)) if plan.otherwise else pool


def _on_all(pool: PoolEstimate, others: tuple[PoolEstimate, ...]) -> PoolEstimate:
    """The pool with bands that hold on the other numbers of cards as well."""
    return replace(pool, phases=tuple(_wider(phase, others) for phase in pool.phases), otherwise=others[0])


def _wider(phase: PhaseEstimate, pools: tuple[PoolEstimate, ...]) -> PhaseEstimate:
    same = [phase, *(other for pool in pools if (other := pool.phase(phase.phase)))]
    return replace(phase, doubt=lambda: (min(one.low for one in same), max(one.high for one in same)))


def _of_neediest_stage(stages: list[tuple[PhaseEstimate, ...]]) -> tuple[PhaseEstimate, ...]:
    """Each phase as it is on the pipeline stage that needs the most in it."""
    if len(stages) == 1:
        return stages[0]
    return tuple(max(phases, key=lambda phase: phase.need) for phases in zip(*stages, strict=True))


def _missing_of_server(plan: Plan) -> tuple[str, ...]:
    """The share of the card, without which there is no cache, and the card itself."""
    ids = ["gpu_memory_utilization"] if missing_share(plan) else []
    return (*ids, *(() if plan.capacity else ("gpu_mem_gib",)))


def _missing(plan: Plan) -> tuple[str, ...]:
    """Facts without which a term is left out, or stands on a wide guess."""
    ids = list(take(plan, "update").missing)
    if "gradient_checkpointing" not in plan.values:
        ids.append("gradient_checkpointing")
    ids.extend(id for id in ("zero_stage", "tp") if id in plan.assumed)
    if place_untold(plan):
        ids.append(WHERE)
    if missing_share(plan):
        ids.append("gpu_memory_utilization")
    if base_type_unknown(plan):
        ids.append("precision")
    if plan.capacity is None:
        ids.append("gpu_mem_gib")
    return tuple(ids)
