"""What every process pays whatever it does, and what the allocator holds beyond what is in use. Bands of heuristics."""

from __future__ import annotations

from diagnose.estimate.plan import FILLED, Plan
from diagnose.estimate.term import Band, make_term
from diagnose.types import Term
from diagnose.units import GIB

_MEASURED = "a heuristic band without a published source; to be calibrated"
CONTEXT = Band(0.4 * GIB, 0.5 * GIB, 0.6 * GIB)
NCCL = Band(0.3 * GIB, 0.7 * GIB, 1.5 * GIB)
WORKSPACES = Band(0.1 * GIB, 0.2 * GIB, 0.3 * GIB)
# Reserved beyond allocated, as a share of what comes and goes. Trainers with a rollout empty the cache between phases; others keep
# blocks of every length that rows have had, for as long as the card has room.
SLACK = Band(0.05, 0.10, 0.25)
_SLACK_UNEMPTIED = Band(0.05, 0.25, 1.0)
_SLACK_EXPANDABLE = Band(0.02, 0.05, 0.10)


def fixed(plan: Plan) -> list[Term]:
    """CUDA contexts, NCCL buffers where several GPUs train, library workspaces."""
    processes = max(1.0, plan.number("processes_per_gpu") or 1.0)
    how = f"{processes:g} × 0.5 GiB"
    terms = [make_term("cuda_context", "CUDA context", "fixed", CONTEXT.times(processes), how, _MEASURED)]
    if plan.gpus > 1:
        terms.append(make_term("nccl", "NCCL buffers", "fixed", NCCL, "0.3 to 1.5 GiB", _MEASURED, ("n_gpus",)))
    how = "cuBLAS and attention kernels, 0.1 to 0.3 GiB"
    return [*terms, make_term("workspaces", "library workspaces", "fixed", WORKSPACES, how, _MEASURED)]


def slack(plan: Plan, trainer: tuple[Term, ...], others: int) -> Term:
    """What the caching allocator reserves beyond the trainer's ``trainer`` terms; never more than the card still has."""
    band = SLACK if plan.online or plan.algo in FILLED else _SLACK_UNEMPTIED
    if plan.values.get("expandable_segments") is True:
        band = _SLACK_EXPANDABLE
    work = [term for term in trainer if term.family == "work"]
    size = Band(
        band.low * sum(term.low for term in work),
        band.mid * sum(term.bytes for term in work),
        band.high * sum(term.high for term in work),
    )
    if plan.capacity is not None:
        size = size.at_most(max(0, plan.capacity - others - sum(term.bytes for term in trainer)))
    how = f"{band.mid:.0%} ({band.low:.0%} to {band.high:.0%}) of what comes and goes"
    source = "a band fitted by eye; public pairs of both counters give reserved / allocated 1.10 to 1.22 (NVIDIA-NeMo/RL pull 926)"
    return make_term("allocator_slack", "allocator slack", "fixed", size, how, source, ("expandable_segments",))
