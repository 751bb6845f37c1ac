"""What every process pays whatever it does, and what the allocator holds beyond what is in use. Bands of heuristics."""

from __future__ import annotations

from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, make_term
from diagnose.types import Term
from diagnose.units import GIB

_MEASURED = "a heuristic band without a published source; to be calibrated"
CONTEXT = Band(0.4 * GIB, 0.5 * GIB, 0.6 * GIB)
NCCL = Band(0.3 * GIB, 0.7 * GIB, 1.5 * GIB)
WORKSPACES = Band(0.1 * GIB, 0.2 * GIB, 0.3 * GIB)
# Reserved beyond allocated, as a share of what is allocated. Four public pairs of both counters of one run lie between 1.10 and 1.22
# (two DPO runs of 12B, two GRPO runs of 4B and 8B); their middle is taken. No pair bounds it from above: a run that never
# empties its cache can reserve several times as much. Expandable segments grow in place, so that blocks of other lengths find room.
SLACK = Band(0.05, 0.16, 0.40)
_SLACK_EXPANDABLE = Band(0.01, 0.04, 0.10)
_PAIRS = "reserved / allocated is 1.10 to 1.22 in four public pairs (github.com/NVIDIA-NeMo/RL/pull/926; two GRPO runs of 4B and 8B)"


def fixed(plan: Plan) -> list[Term]:
    """CUDA contexts, NCCL buffers where several GPUs train, library workspaces."""
    processes = max(1.0, plan.number("processes_per_gpu") or 1.0)
    how = f"{processes:g} × 0.5 GiB"
    terms = [make_term("cuda_context", "CUDA context", "fixed", CONTEXT.times(processes), how, _MEASURED)]
    if plan.gpus > 1:
        terms.append(make_term("nccl", "NCCL buffers", "fixed", NCCL, "0.3 to 1.5 GiB", _MEASURED, ("n_gpus",)))
    how = "cuBLAS and attention kernels, 0.1 to 0.3 GiB"
    return [*terms, make_term("workspaces", "library workspaces", "fixed", WORKSPACES, how, _MEASURED)]


def slack(plan: Plan, trainer: tuple[Term, ...], others: tuple[Term, ...]) -> Term:
    """What the caching allocator reserves beyond the trainer's ``trainer`` terms; never more than the card still has.

    Before it gives up, the allocator hands back what it caches (torch 2.6 c10/cuda/CUDACachingAllocator.cpp: release_cached_blocks).
    """
    band = _SLACK_EXPANDABLE if plan.values.get("expandable_segments") is True else SLACK
    if all(term.family != "work" for term in trainer):
        band = Band(0.0, 0.0, band.low)
    mid, high = sum([term.bytes for term in trainer]), sum([term.high for term in trainer])
    size = Band(band.low * sum([term.low for term in trainer]), band.mid * mid, band.high * high)
    if plan.capacity is not None:
        room = max(0, plan.capacity - mid - sum([term.bytes for term in others]))
        least = max(0, plan.capacity - high - sum([term.high for term in others]))
        size = Band(min(size.low, room), min(size.mid, room), min(size.high, least))
    how = f"{band.mid:.0%} ({band.low:.0%} to {band.high:.0%}) of what is allocated"
    return make_term("allocator_slack", "allocator slack", "fixed", size, how, _PAIRS, ("expandable_segments",))
