"""What every process pays whatever it does, and what the allocator holds beyond what is in use. Bands of heuristics."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from diagnose.conditions import in_range
from diagnose.estimate import terms_zero_streams as zero_streams
from diagnose.estimate.plan import PAIRED, Plan
from diagnose.estimate.term import Band, make_term, total
from diagnose.estimate.terms_nccl import nccl
from diagnose.estimate.tokens import take
from diagnose.types import Term
from diagnose.units import GIB

_MEASURED = "a heuristic band without a published source; to be calibrated"
CONTEXT = Band(0.4 * GIB, 0.5 * GIB, 0.6 * GIB)
WORKSPACES = Band(0.1 * GIB, 0.2 * GIB, 0.3 * GIB)
# Reserved beyond allocated. What is held is allocated once and lies in whole blocks: full training of 7B reserves 1.02 of it (ms-swift
# docs/source/LLM/Benchmark.md at c212b44). What comes and goes leaves pieces: of the four public pairs of both counters of one run the
# two with known settings are a DPO run of 12B, which reserves 6 GiB beside 35 GiB of such work.
SLACK_HELD, SLACK_WORK = Band(0.0, 0.02, 0.10), Band(0.02, 0.16, 0.40)
# Where all rows have one length the same blocks come back each time: beyond what is allocated the steps of 40 runs reserve 0.1 to 0.4 of
# their logits, and little of the rest (tests/data/measured_scale.toml).
SLACK_LOGITS, SLACK_EVEN = Band(0.1, 0.2, 0.4), Band(0.0, 0.03, 0.10)
# whose steps were measured so: Megatron makes its state and buffers before the first step
_OF_TORCH = (None, "none", "ddp", "fsdp", "fsdp2")
_SLACK_AT_REST = Band(0.0, 0.0, 0.02)
# Expandable segments grow in place, so that blocks of other lengths find room.
_SLACK_EXPANDABLE = Band(0.0, 0.04, 0.30)
# What torch prints as reserved but unallocated when it has failed: 0.1 to 18 % of what is allocated in ten public messages (ms-swift
# 7826, 9112, 4023, 9613, 2044; RAGEN 92; OpenRLHF 398; Agent-R1 32; slime 1951; rLLM 93), below 10 % in eight.
_PIECES, _PIECES_EXPANDABLE = 0.10, 0.02
_PAIRS = "reserved / allocated of one run: github.com/NVIDIA-NeMo/RL/pull/926; full training of 7B that holds 71.9 GiB and reserves 73.4"
# What is reserved beyond the most in use where rows differ, as a multiple of the logits of the longest: median and about the tenths of
# 45 replays of three models over three data sets (tests/data/replayed_allocator.toml); rows of one length need 0.2 to 0.4.
GROWTH = Band(1.0, 2.5, 5.0)
_BLOCK = 1 / 3  # one of the three fp32 copies that stand at the worst moment
_REPLAY = (
    "torch 2.1 c10/cuda/CUDACachingAllocator.cpp: get_free_block, alloc_block, replayed by benchmarks/allocator.py"
)

_SCALE = "torch 2.1 c10/cuda/CUDACachingAllocator.cpp over the requests of whole steps: benchmarks/oracle_scale.py"
_SENT = "torch 2.6 csrc/distributed/c10d/reducer.cpp: _broadcast_coalesced; ProcessGroupNCCL.cpp: recordStream"
_NO_COPIES_SINCE = "2.7"
_PAGED = ("actor_optimizer", "critic_optimizer")  # which a paged optimizer keeps in pages


class _Shares(NamedTuple):
    """What is reserved beyond what is held, and beyond what comes and goes, as shares of these, and both in words."""

    held: Band
    work: Band
    how: str


def _in_words(held: Band, work: Band) -> _Shares:
    how = f"{held.mid:.0%} of what is held, {work.mid:.0%} ({work.low:.0%} to {work.high:.0%}) of the rest"
    return _Shares(held, work, how)


_AT_REST = _in_words(_SLACK_AT_REST, SLACK_WORK)
_PLAIN = _in_words(SLACK_HELD, SLACK_WORK)
_EXPANDABLE = _in_words(_SLACK_EXPANDABLE, _SLACK_EXPANDABLE)


def fixed(plan: Plan) -> tuple[Term, ...]:
    """CUDA contexts, NCCL buffers where several GPUs train, library workspaces."""
    context, workspaces = _of_processes(max(1.0, plan.number("processes_per_gpu") or 1.0))
    buffers = nccl(plan)
    return (context, buffers, workspaces) if buffers else (context, workspaces)


@lru_cache(maxsize=16)
def _of_processes(processes: float) -> tuple[Term, Term]:
    how = f"{processes:g} × 0.5 GiB"
    context = make_term("cuda_context", "CUDA context", "fixed", CONTEXT.times(processes), how, _MEASURED)
    how = "cuBLAS and attention kernels, 0.1 to 0.3 GiB"
    return (context, make_term("workspaces", "library workspaces", "fixed", WORKSPACES, how, _MEASURED))


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


def cached(plan: Plan, held: Band, work: Band, others: Band, logits: Band) -> tuple[Term, Band]:
    """What the trainer's allocator keeps beside what is in use, and the room that is then left; no more than the card still has.

    Before it gives up, the allocator hands back what it caches (torch 2.6 c10/cuda/CUDACachingAllocator.cpp: release_cached_blocks).
    """
    mid = high = math.inf
    if plan.capacity is not None:
        mid = max(0, plan.capacity - held.mid - work.mid - others.mid)
        high = max(0, plan.capacity - held.high - work.high - others.high)
    slack = _slack(plan, held, work, Band(mid, mid, high), _even(plan, logits))
    return slack, Band(mid - slack.low, mid - slack.bytes, high - slack.high)


def growth(plan: Plan, logits: Band, room: Band) -> tuple[int, list[Term]]:
    """Blocks kept for rows of other lengths: in bytes what counters of reserved memory show of them, and the band as a term.

    The logits of a longer row fit into no free block, so that each record takes new memory from the card, and the blocks of shorter
    rows go on as pieces. It ends where the next block does not fit, on average half a block below what the card has, and is handed
    back when it is needed: no run fails by it alone. Expandable segments grow in place instead. Where nothing is known of the rows
    only the band holds it, and so for losses over pairs: the one such run with both counters reserves 1.10 of what it allocates
    (NVIDIA-NeMo/RL pull 926).
    """
    uneven = take(plan, "update").uneven if logits.high else False
    if uneven is False or plan.values.get("expandable_segments") is True:
        return 0, []
    shown = min(GROWTH.mid * logits.mid, max(0.0, room.mid - _BLOCK * logits.mid / 2))
    how = f"up to {GROWTH.high:g} × logits, kept in blocks of other lengths and handed back when needed"
    moved_by = ("expandable_segments", "micro_batch", "logits_chunked", "remove_padding")
    size = Band(0.0, 0.0, min(GROWTH.high * logits.high, max(0.0, room.high)))
    term = make_term("allocator_growth", "blocks of other lengths", "fixed", size, how, _REPLAY, moved_by)
    return round(shown) if uneven and plan.algo not in PAIRED else 0, [term]


def dropped(plan: Plan, work: list[Term], logits: Band) -> Band:
    """What the update drops that the optimizer step leaves in its blocks: the logits, and of DeepSpeed all of it.

    The state of the first step is cut out of what the backward pass has dropped, so that the next logits find no block as large and take
    new memory from the card. DeepSpeed's step takes gradients of many matrices in one piece, larger than any block of the update's; what
    lies on other streams is counted there (terms_streams.py).
    """
    strategy = plan.values.get("strategy")
    if strategy == "deepspeed" and plan.split.stage:
        elsewhere = zero_streams.ELSEWHERE if zero_streams.overlaps(plan) else ()
        return total([term for term in work if term.family != "engine" and term.id not in elsewhere])
    return logits if strategy in _OF_TORCH else Band(0.0, 0.0, 0.0)


def left_behind(plan: Plan, left: Band, room: Band) -> tuple[int, list[Term]]:
    """Blocks of the update's beside the optimizer step, in bytes as counters of reserved memory show them, and the band as a term.

    What is reserved comes to the state with its temporaries and these as well: within 6 % on seven models and settings
    (tests/data/measured_scale.toml), of DeepSpeed within 10 % (tests/data/trainers/deepspeed_scale.toml). Handed back when it is needed.
    Expandable segments find room.
    """
    if plan.values.get("expandable_segments") is True or not left.high:
        return 0, []
    how = "blocks of the update's, handed back when needed"
    size = Band(0.0, 0.0, min(left.high, max(0.0, room.high)))
    term = make_term("allocator_growth", "blocks of other sizes", "fixed", size, how, _SCALE, ("expandable_segments",))
    return round(min(left.mid, max(0.0, room.mid))), [term]


def most_cached(plan: Plan, held: Band, work: Band, logits: Band, uneven: bool) -> float:
    """Bytes up to which the allocator may cache where the card has them; ``uneven``: blocks of other lengths.

    The replays count all that is reserved beyond the most in use, so that the pieces of the logits are among it.
    """
    shares = _shares(plan, work)
    other_work = max(0.0, work.mid - logits.mid) if uneven else work.mid
    return shares.held.high * held.mid + shares.work.high * other_work + (GROWTH.high * logits.mid if uneven else 0.0)


def pieces(plan: Plan, held: Band, work: Band) -> float:
    """Bytes that the allocator cannot hand back when it runs out, since something of their segment is in use."""
    if not work.high:
        return 0.0
    return (_PIECES_EXPANDABLE if plan.values.get("expandable_segments") is True else _PIECES) * (held.mid + work.mid)


def paged(plan: Plan, trainer: list[Term]) -> tuple[list[Term], list[Term]]:
    """The trainer's terms without the moments that a paged optimizer keeps in managed memory, and these.

    torch's allocator knows nothing of them: bitsandbytes 0.49.2 optim/optimizer.py: get_state_buffer; functional.py: get_paged. fp32
    masters are DeepSpeed's own tensors (runtime/zero/stage3.py: fp32_partitioned_groups_flat).
    """
    if not str(plan.values.get("optimizer", "")).lower().startswith("paged"):
        return trainer, []
    share = plan.each.moments / (plan.each.optimizer or 1.0)
    kept = [term for term in trainer if term.id not in _PAGED]
    pages = [term for term in trainer if term.id in _PAGED]
    masters = [_part(term, 1 - share)._replace(title="fp32 masters") for term in pages if share < 1]
    return [*kept, *masters], [_part(term, share) for term in pages]


def _part(term: Term, share: float) -> Term:
    return term._replace(bytes=round(share * term.bytes), low=round(share * term.low), high=round(share * term.high))


def where_free(pages: list[Term], room: Band) -> list[Term]:
    """Managed memory on a card: there while the card has the room, else the driver moves its pages to the host's memory and back.

    (CUDA C++ Programming Guide, section on unified memory: oversubscription.) So no run fails by it, and only the band holds it.
    """
    left, terms = max(0.0, room.high), []
    for state in pages:
        size = Band(0.0, 0.0, min(float(state.high), left))
        left -= size.high
        how = f"up to {state.how}, in pages that go to the host where the card has no room"
        terms.append(make_term(state.id, state.title, "fixed", size, how, state.source, state.moved_by))
    return terms


def _even(plan: Plan, logits: Band) -> Band | None:
    """The logits of rows that all have one length; None where they do not, or none are made."""
    if plan.values.get("expandable_segments") is True or plan.values.get("strategy") not in _OF_TORCH:
        return None
    return logits if logits.high and take(plan, "update").uneven is False else None


def _slack(plan: Plan, held: Band, work: Band, room: Band, logits: Band | None) -> Term:
    """Pieces beside what is in use. Where the trainer only holds and never works, little lies in pieces."""
    of_held, of_work, how = _shares(plan, work)
    source, beside = _PAIRS, of_work.of(work)
    if logits is not None:
        rest = Band(*(max(0.0, all_of_it - of_it) for all_of_it, of_it in zip(work, logits, strict=True)))
        source, beside = _SCALE, SLACK_LOGITS.of(logits).and_also(SLACK_EVEN.of(rest))
        how = (
            f"{of_held.mid:.0%} of what is held, {SLACK_LOGITS.mid:.0%} of the logits, {SLACK_EVEN.mid:.0%} of the rest"
        )
    low, mid, high = of_held.of(held).and_also(beside)
    size = Band(min(low, room.low), min(mid, room.mid), min(high, room.high))
    return make_term("allocator_slack", "allocator slack", "fixed", size, how, source, ("expandable_segments",))


def _shares(plan: Plan, work: Band) -> _Shares:
    if not work.high:
        return _AT_REST
    return _EXPANDABLE if plan.values.get("expandable_segments") is True else _PLAIN
