"""The figures of an allocator's message are arithmetic: who holds the rest of the card, and whether what is free or idle would do."""

from __future__ import annotations

from diagnose.types import Facts

# Reserved and unused from this share of the card on counts as lying in pieces, if it is more than was asked for.
_PIECES = 0.1
# Idle memory below this share of the card is what every full card has.
FULL = 0.05
# GiB: less than this on a card that is not the process's own is the driver's and the contexts'.
TENANT = 1.5
# GiB of the process beside what torch reserves: context, kernels and libraries on one card; with NCCL's buffers, 9.2 MiB a channel
# and peer (terms_nccl.py), of all groups that a model split many ways has.
BESIDE_TORCH, WITH_GROUPS = 2.0, 8.0
# Figures are printed with two decimals and read at slightly different moments.
_SLACK = 0.02


def fragmented(facts: Facts) -> bool | None:
    """More free than asked for, or much of what torch holds unused: what is missing is one piece of the size asked for."""
    asked, free, unused = facts.number("tried_alloc_gib"), _free(facts), facts.number("torch_reserved_gib")
    total = facts.number("gpu_total_gib") or facts.number("gpu_mem_gib")
    if asked is None or (free is None and unused is None):
        return None
    in_pieces = unused is not None and total is not None and unused >= total * _PIECES and unused > asked
    return in_pieces or (free is not None and free > asked)


def _free(facts: Facts) -> float | None:
    """GiB that torch may still take: what is free on the card, and no more than the process's own limit leaves.

    set_per_process_memory_fraction; pytorch/pytorch v2.5.0 c10/cuda/CUDACachingAllocator.cpp: alloc_block
    """
    ids = ("gpu_free_gib", "torch_allowed_gib", "torch_allocated_gib")
    free, allowed, allocated = (facts.number(id) for id in ids)
    if allowed is None or allocated is None:
        return free
    left = max(0.0, allowed - allocated - (facts.number("torch_reserved_gib") or 0.0))
    return left if free is None else min(free, left)


def limited(facts: Facts) -> bool:
    """Whether the limit of the process refused, and not the card."""
    asked, free, left = facts.number("tried_alloc_gib"), facts.number("gpu_free_gib"), _free(facts)
    return asked is not None and free is not None and left is not None and left < asked <= free


def foreign_gib(facts: Facts) -> float | None:
    """GiB on the card beyond what the process holds and what is free: other processes, or another engine. Without figures as told."""
    total, free, held = (facts.number(id) for id in ("gpu_total_gib", "gpu_free_gib", "process_gib"))
    if held is None and total is not None and free is not None:
        return _beyond_torch(facts, total - free) or facts.number("others_gib")
    if total is None or free is None or held is None or held > total:
        return facts.number("others_gib")
    return round(total - free - held, 2)


def _beyond_torch(facts: Facts, used: float) -> float | None:
    """GiB of others on a card where a message, before torch 2.1, tells only what torch reserves; None where that may be all."""
    held = facts.number("torch_held_gib")
    own = BESIDE_TORCH if facts.values.get("n_gpus") == 1 else WITH_GROUPS
    return round(used - held, 2) if held is not None and used - held > own else None


def alone_on_card(facts: Facts) -> bool:
    """Whether the message’s figures leave no memory of the card to any other process; False where it does not print all three."""
    printed = all(facts.number(id) is not None for id in ("gpu_total_gib", "gpu_free_gib", "process_gib"))
    return printed and "overfull" not in contradictions(facts) and (foreign_gib(facts) or 0.0) < 1


def false_shortage(facts: Facts) -> bool:
    """Whether the card had clearly more free than was asked for: more than roundings and what a mapping itself takes."""
    asked, free = facts.number("tried_alloc_gib"), _free(facts)
    return asked is not None and free is not None and free > asked * 1.1 + 0.05


def idle_gib(facts: Facts) -> float | None:
    """GiB that nothing uses: free on the card, and reserved by torch without being allocated."""
    free, unused = _free(facts), facts.number("torch_reserved_gib")
    return None if free is None or unused is None else free + unused


def crammed(facts: Facts) -> bool:
    """Whether the figures show a card that is full and not in pieces: all that is idle would not have done, and little of it is torch's."""
    asked, idle, unused = facts.number("tried_alloc_gib"), idle_gib(facts), facts.number("torch_reserved_gib")
    total, others = facts.number("gpu_total_gib"), foreign_gib(facts) or 0.0
    if asked is None or idle is None or unused is None or total is None or others >= 1 or beyond_card(facts):
        return False
    return unused < total * _PIECES and (idle < asked or idle < total * FULL)


def beyond_card(facts: Facts) -> bool:
    """Whether a single request is larger than the whole card."""
    asked, total = facts.number("tried_alloc_gib"), facts.number("gpu_total_gib") or facts.number("gpu_mem_gib")
    if total is None and facts.gpu is not None:
        total = max(float(size) for size in facts.gpu.sizes)
    return asked is not None and total is not None and asked > total


def contradictions(facts: Facts) -> tuple[str, ...]:
    """Figures that cannot all be true of one moment and one view of the card: ``overfull``, ``beyond_process`` or ``unseen``.

    ``spilled``: torch holds more than the card has and nothing tells what the process holds, as the driver of Windows prints it.
    """
    total, free, held = (facts.number(id) for id in ("gpu_total_gib", "gpu_free_gib", "process_gib"))
    allocated = facts.number("torch_allocated_gib")
    found = []
    if total and free is not None and held is not None and free + held > total * (1 + _SLACK):
        found.append("overfull")
    if allocated is not None and held is not None and allocated > held + _SLACK:
        found.append("unseen" if held < 0.1 else "beyond_process")
    engine = facts.values.get("rollout_engine", "hf") != "hf"
    if allocated is not None and held is None and total and allocated > total * (1 + _SLACK) and not engine:
        found.append("spilled")
    return tuple(found)
