"""What sharding leaves on streams of its own: a free block serves only the stream that made it.

So what torch has reserved is the most of each stream, whenever that was, and not the most of all together. Counters of a real card tell
the bytes by stream (tests/data/trainers/card.toml, torch 2.11); which tensor is on which is told by the code at 2.6. FSDP's are here,
DeepSpeed's in terms_zero_streams.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from diagnose.estimate import terms_zero_streams as zero
from diagnose.estimate.accumulated import one_micro_batch
from diagnose.estimate.once import once
from diagnose.estimate.plan import Plan
from diagnose.estimate.sharding import keeps_gathered
from diagnose.estimate.term import Band, make_term
from diagnose.estimate.terms_gather import layer_bytes, pipelined
from diagnose.estimate.terms_root import gradient_each, root_gradient, units
from diagnose.types import Term

_STREAMS = (
    "torch 2.6 c10/cuda/CUDACachingAllocator.cpp: get_free_block; distributed/fsdp/_runtime_utils.py: _unshard, _post_backward_hook;"
    " _fully_shard/_fsdp_collectives.py: foreach_all_gather, foreach_reduce"
)
_OUTERMOST = "root_gradient"
_WHOLE = ("layer_gradient", _OUTERMOST)  # gradients before they are reduced


def apart(plan: Plan, trainer: list[Term], moments: list[list[Term]], room: float) -> tuple[int, list[Term]]:
    """Blocks that the streams of an update do not share, in bytes as counters show them, and the band as a term.

    ``trainer`` is what is held and the work of the worst moment, ``moments`` the work of every one, ``room`` the bytes that the card has
    left. Blocks are handed back when they are needed, so that no run fails by them alone: where the card has no room for all of them,
    what is reserved ends on average half a block below.
    """
    if zero.overlaps(plan):
        whose, source = "ZeRO-3", zero.SOURCE
        computes = _held(trainer) + max(zero.computing(plan, work) for work in moments)
        beside = zero.gather_stream(plan) + zero.reduce_stream(plan)
    elif _by_units(plan):
        whose, source = "FSDP", _STREAMS
        computes = _held(trainer, but="actor_gradients") + max(_computing(plan, work) for work in moments)
        beside = gather_stream(plan) + reduce_stream(plan, stay=_have_gradients((trainer, *moments)))
    else:
        return 0, []
    block = max(2 * units(plan)[0], _outermost(plan))
    size = max(0.0, min(computes + beside - sum([term.bytes for term in trainer]), room - block / 2))
    how = "blocks of the streams that gather and reduce, handed back when needed"
    band, title = Band(0.0, 0.0, size), f"blocks of {whose}'s streams"
    return round(size), [make_term("stream_blocks", title, "fixed", band, how, source, ("tp", "overlap_comm"))]


def _by_units(plan: Plan) -> bool:
    """Whether FSDP gathers the units of a pass from other ranks and frees them behind it."""
    sharded = plan.split.stage >= 3 and plan.split.group > 1
    return sharded and plan.does.get("gather") == "fsdp_units" and not pipelined(plan)


def _held(trainer: list[Term], but: str = "") -> int:
    return sum(term.bytes for term in trainer if term.family == "held" and term.id != but)


def _computing(plan: Plan, work: Iterable[Term]) -> float:
    """Bytes of a moment's work on the stream that computes."""
    gathered = "gathers" if plan.values.get("strategy") == "fsdp" else ""
    own = [term for term in work if term.family == "work" and term.id != gathered]
    return sum([term.bytes for term in own]) - sum([_reduced(plan, term) for term in own if term.id in _WHOLE])


@once
def gather_stream(plan: Plan) -> float:
    """The most bytes on the stream that gathers.

    FSDP 2 has one buffer of the root unit and the next layer's there, each beside this rank's part, and copies them into parameters on
    the stream that computes. FSDP 1 has the parameters themselves there: the layer at work, the next one, and one that is freed when
    the card is done with it (``record_stream``; _limiter_utils.py), the root twice, as measured in a trainer's own loop and in plain ones
    (tests/data/trainers/card_easyr1.toml, card.toml; why the first is not used again was not found), and where weights are stored in fp32
    this rank's part of the root in 16 bits.
    """
    root, layer = (each * unit for each, unit in zip((2.0, layer_bytes(plan)), units(plan), strict=True))
    part = 1 / plan.split.group
    if plan.values.get("strategy") == "fsdp2":
        return (1 + part) * (root + layer)
    if keeps_gathered(plan.values):
        return layer_bytes(plan) * plan.split.whole
    return (2 + (part if plan.each.stored > 2 else 0.0)) * root + 3 * layer


def reduce_stream(plan: Plan, *, stay: bool) -> float:
    """The most bytes on the stream that reduces: what it has of the root unit's whole gradient, and all shards where they ``stay``.

    A further micro batch's shard of the root unit stands beside the sum of those before it.
    """
    if plan.adapters:
        return 0.0
    whole = _outermost(plan)
    if plan.values.get("strategy") == "fsdp2" and not one_micro_batch(plan):
        whole += gradient_each(plan)[1] * units(plan)[0] / plan.split.group
    return whole + (plan.each.gradients * plan.trained / plan.split.group if stay else 0.0)


@once
def _outermost(plan: Plan) -> float:
    """Bytes of the root unit's whole gradient there."""
    return sum([_reduced(plan, term) for term in root_gradient(plan)])


def _have_gradients(moments: Iterable[list[Term]]) -> bool:
    return any(term.id == "actor_gradients" for work in moments for term in work)


def _reduced(plan: Plan, term: Term) -> float:
    """Bytes of a whole gradient that are on the stream that reduces: of FSDP 1 all but what autograd gives."""
    if plan.values.get("strategy") != "fsdp":
        return 0.0
    root, layer = units(plan)
    return max(0.0, term.bytes - gradient_each(plan)[0] * (root if term.id == _OUTERMOST else layer))
