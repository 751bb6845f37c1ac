"""What DeepSpeed's stage 3 leaves on streams of its own where it overlaps communication, which it does unless its file says otherwise.

Read in deepspeedai/DeepSpeed@edaa722 runtime/zero and in the allocator's events of four runs of 7B and 2.7B with everything on the host
on a real card (tests/data/trainers/card.toml): what each stream reserved is within 0.8 GiB of what is said here.
"""

from __future__ import annotations

from diagnose.estimate import terms_zero
from diagnose.estimate.accumulated import one_micro_batch
from diagnose.estimate.plan import Plan
from diagnose.types import Term

SOURCE = (
    "deepspeedai/DeepSpeed@edaa722 runtime/zero/config.py: overlap_comm_valid; partition_parameters.py: _all_gather_dtype; stage3.py:"
    " __reduce_and_partition_ipg_grads, partition_grads; torch 2.6 c10/cuda/CUDACachingAllocator.cpp: get_free_block"
)
ELSEWHERE = ("gathers", "laid_out")  # not on the stream that computes
_COPIES = 3  # of the logits in fp32 at the worst moment


def overlaps(plan: Plan) -> bool:
    """Whether weights are gathered and gradients reduced on streams of their own: the default of stage 3, where nothing was said."""
    return terms_zero.gathers(plan) and plan.split.group > 1 and plan.values.get("overlap_comm") is not False


def computing(plan: Plan, work: list[Term]) -> float:
    """Bytes of a moment's work on the stream that computes; the head's gradient too where no freed copy of the logits can hold it."""
    own: float = sum([term.bytes for term in work if term.family == "work" and term.id not in ELSEWHERE])
    copy = next((term.bytes / _COPIES for term in work if term.id == "logits"), 0.0)
    gradient = 0.0 if plan.adapters else _largest(plan)
    return own + (gradient if 0 < copy < gradient else 0.0)


def gather_stream(plan: Plan) -> float:
    """The most bytes on the stream that gathers: what may stay gathered, and the largest matrix, whatever stays.

    Beside it lies this rank's part where that comes from the host. In a further micro batch pieces of others lie where it was.
    """
    largest = _largest(plan)
    times = 1 + (1 / plan.split.group if _from_host(plan) else 0) + (not one_micro_batch(plan))
    live = terms_zero.gathered(plan).bytes
    return live + largest * times


def reduce_stream(plan: Plan) -> float:
    """The most bytes on the stream that reduces: a bucket laid out by ranks, or the largest gradient where that does not fit into one.

    Where gradients go to the host this rank's part is copied back for its norm. In a further micro batch the bucket is laid out
    beside the block of the largest.
    """
    if plan.adapters:
        return 0.0
    largest, bucket = _largest(plan), sum(term.bytes for term in terms_zero.laid_out(plan))
    part = largest / plan.split.group if plan.values.get("optimizer_on_cpu") is True else 0.0
    again = bucket if bucket < largest and not one_micro_batch(plan) else 0.0
    return max(largest, bucket) + part + again


def _largest(plan: Plan) -> float:
    """Bytes of the largest matrix whole, embedding or head."""
    return terms_zero.each_bytes(plan) * plan.shape.embedding / plan.whole("tp")


def _from_host(plan: Plan) -> bool:
    return plan.values.get("param_on_cpu") is True
