"""What every process pays whatever it does, and what the allocator holds beyond what is in use. Bands of heuristics."""

from __future__ import annotations

from functools import lru_cache

from diagnose.conditions import in_range
from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, make_term, total
from diagnose.types import Term
from diagnose.units import GIB

_MEASURED = "a heuristic band without a published source; to be calibrated"
CONTEXT = Band(0.4 * GIB, 0.5 * GIB, 0.6 * GIB)
NCCL = Band(0.3 * GIB, 0.7 * GIB, 1.5 * GIB)
WORKSPACES = Band(0.1 * GIB, 0.2 * GIB, 0.3 * GIB)
# Reserved beyond allocated, as a share of what is allocated. Four public pairs of both counters of one run lie between 1.10 and 1.22
# (two DPO runs of 12B, two GRPO runs of 4B and 8B); their middle is taken. No pair bounds it from above: a run that never
# empties its cache can reserve several times as much; where weights and Adam state are most of it, 1.02 was measured (ms-swift
# docs/source/LLM/Benchmark.md at c212b44: full training of 7B). Expandable segments grow in place, so that blocks of other
# lengths find room.
SLACK = Band(0.02, 0.16, 0.40)
_SLACK_EXPANDABLE = Band(0.0, 0.04, 0.30)
_PAIRS = "reserved / allocated is 1.10 to 1.22 in four public pairs (github.com/NVIDIA-NeMo/RL/pull/926; two GRPO runs of 4B and 8B)"

_SENT = "torch 2.6 csrc/distributed/c10d/reducer.cpp: _broadcast_coalesced; ProcessGroupNCCL.cpp: recordStream"
_NO_COPIES_SINCE = "2.7"


def fixed(plan: Plan) -> tuple[Term, ...]:
    """CUDA contexts, NCCL buffers where several GPUs train, library workspaces."""
    return _fixed(max(1.0, plan.number("processes_per_gpu") or 1.0), plan.gpus > 1)


@lru_cache(maxsize=16)
def _fixed(processes: float, several_gpus: bool) -> tuple[Term, ...]:
    how = f"{processes:g} × 0.5 GiB"
    terms = [make_term("cuda_context", "CUDA context", "fixed", CONTEXT.times(processes), how, _MEASURED)]
    if several_gpus:
        terms.append(make_term("nccl", "NCCL buffers", "fixed", NCCL, "0.3 to 1.5 GiB", _MEASURED, ("n_gpus",)))
    how = "cuBLAS and attention kernels, 0.1 to 0.3 GiB"
    return (*terms, make_term("workspaces", "library workspaces", "fixed", WORKSPACES, how, _MEASURED))


def broadcast_copies(plan: Plan, trainer: list[Term], others: Band) -> list[Term]:
    """What DDP leaves in the allocator when it starts: it sends the first rank's weights in pieces, and each piece is a copy whose memory
    another stream still holds when the next one is made, so that up to all weights are reserved twice; never more than the card has.

    (torch 2.6 csrc/distributed/c10d/reducer.cpp: _broadcast_coalesced; ProcessGroupNCCL.cpp: recordStream.) Later versions hold on to a
    piece until it has arrived instead and use its memory again (torch 2.13 ProcessGroupNCCL.hpp: TensorShelf).
    """
    if plan.values.get("strategy") != "ddp" or plan.split.stage or plan.split.group == 1:
        return []
    version = plan.values.get("torch_version")
    if version is not None and not in_range("", _NO_COPIES_SINCE, str(version)):
        return []
    copy: float = sum(term.bytes for term in trainer if term.id == "actor_weights")
    if plan.capacity is not None:
        copy = min(copy, max(0.0, plan.capacity - total(trainer).high - others.high))
    size = Band(0, copy if version is not None else 0, copy)
    how = "up to all weights a second time"
    return [make_term("broadcast_copies", "copies sent when DDP starts", "fixed", size, how, _SENT, ("torch_version",))]


def slack_shares(plan: Plan, works: bool) -> Band:
    """What is reserved beyond what is allocated, as a share of it; little where the trainer only holds and never ``works``."""
    band = _SLACK_EXPANDABLE if plan.values.get("expandable_segments") is True else SLACK
    return band if works else Band(0.0, 0.0, band.low)


def slack(plan: Plan, trainer: Band, others: Band, band: Band) -> Term:
    """What the caching allocator reserves beyond what the ``trainer`` takes; never more than the card still has.

    ``others`` is what else stands there, ``band`` the shares.

    Before it gives up, the allocator hands back what it caches (torch 2.6 c10/cuda/CUDACachingAllocator.cpp: release_cached_blocks).
    """
    low, mid, high = band.low * trainer.low, band.mid * trainer.mid, band.high * trainer.high
    if plan.capacity is not None:
        room = max(0, plan.capacity - trainer.mid - others.mid)
        low, mid = min(low, room), min(mid, room)
        high = min(high, max(0, plan.capacity - trainer.high - others.high))
    size = Band(low, mid, high)
    how = _shares(band)
    return make_term("allocator_slack", "allocator slack", "fixed", size, how, _PAIRS, ("expandable_segments",))


@lru_cache(maxsize=8)
def _shares(band: Band) -> str:
    return f"{band.mid:.0%} ({band.low:.0%} to {band.high:.0%}) of what is allocated"
