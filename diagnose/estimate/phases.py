"""The GPU over the phases of a run: residents, what each phase needs beside them, the engine, the fixed part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from diagnose.estimate.doubt import bounds
from diagnose.estimate.engine import engine, engine_activations
from diagnose.estimate.moments import MOMENTS, Moment, nothing
from diagnose.estimate.once import once
from diagnose.estimate.plan import Plan
from diagnose.estimate.roles import on_cards
from diagnose.estimate.stand_in import assumed
from diagnose.estimate.term import Band, make_term, total
from diagnose.estimate.terms_fixed import (
    broadcast_copies,
    cached,
    dropped,
    fixed,
    growth,
    left_behind,
    most_cached,
    paged,
    pieces,
    where_free,
)
from diagnose.estimate.terms_held import held
from diagnose.estimate.terms_streams import apart
from diagnose.types import PhaseEstimate, Term

_BACKWARD = ("actor_update", "optimizer_step")  # phases that meet what a backward pass has left on its streams
_TRAINERS = frozenset(("held", "work"))  # families of what the trainer itself has
_CACHED = frozenset(("allocator_slack", "broadcast_copies"))


class Worst(NamedTuple):
    """The worst moment of a phase, the most logits that any of its moments holds, and the work of each."""

    moment: str
    work: list[Term]
    logits: Band
    moments: list[list[Term]]


AWAKE = ("init", "weight_sync", "rollout")  # an engine that sleeps stands here with weights and pool


def gpu_phases(plan: Plan, phases: tuple[str, ...]) -> tuple[PhaseEstimate, ...]:
    """These phases, each at its worst moment."""
    cards = {phase: on_cards(plan, phase) for phase in phases}
    # two phases of the same kind on as many cards, as the log-probs of actor and reference, need the same
    makers = {phase: (MOMENTS.get(phase, nothing), on.gpus) for phase, on in cards.items()}
    of_kind = {makers[phase]: on for phase, on in cards.items()}
    worst = {kind: _worst(kind[0](on)) for kind, on in of_kind.items()}
    of_size = {on.gpus: on for on in cards.values()}
    always = {gpus: (_resident_terms(on, phases), fixed(on)) for gpus, on in of_size.items()}
    update = makers.get("actor_update")
    left = {"optimizer_step": dropped(plan, worst[update].work, worst[update].logits)} if update else {}
    return tuple(
        _phase(on, phase, *always[on.gpus], worst[makers[phase]], left.get(phase)) for phase, on in cards.items()
    )


def trainer_bytes(phase: PhaseEstimate) -> int:
    """What the trainer itself has allocated: held and work, without engine and fixed part."""
    return sum([term.bytes for term in phase.terms if term.family in _TRAINERS])


def reserved_bytes(phase: PhaseEstimate) -> int:
    """What the trainer's allocator has reserved."""
    shown = [term.bytes for term in phase.terms if term.family in _TRAINERS or term.id in _CACHED]
    return sum(shown) + phase.cached


def inside_bytes(plan: Plan, phase: PhaseEstimate) -> int:
    """What an engine in the trainer's own process adds to its counters of torch, where it does not generate.

    One that sleeps leaves its graphs behind, one that never does its weights and its pool as well: torch counts private pools and
    those of another allocator like its own (torch 2.6 c10/cuda/CUDACachingAllocator.cpp: PrivatePool).
    """
    alone = (plan.number("processes_per_gpu") or 1.0) > 1 or plan.values.get("rollout_mode") != "colocated"
    validates = phase.phase == "eval" and "eval" not in plan.phases  # by the engine: validation.py
    if alone or validates or phase.phase in AWAKE:
        return 0
    return sum(term.bytes for term in (*phase.terms, *_asleep(plan, phase)) if term.family == "engine")


def _asleep(plan: Plan, phase: PhaseEstimate) -> list[Term]:
    """What of a sleeping engine torch still counts: vLLM hands the memory back behind its back, and no block is freed.

    (vLLM device_allocator/cumem.py: sleep unmaps; torch 2.6 c10/cuda/CUDACachingAllocator.cpp counts blocks.) A framework that takes
    this out of its counters has no such entry.
    """
    if plan.does.get("asleep_in_counters") != "yes" or not plan.values.get("sleep_level"):
        return []
    here = {term.id for term in phase.terms}
    return [term for term in _awake(plan) if term.id not in here]


@once
def _awake(plan: Plan) -> list[Term]:
    """What of an engine stands on a card while it generates."""
    return [term for what in plan.holds("rollout", "gpu") for term in engine(plan, what)]


def _phase(
    plan: Plan,
    phase: str,
    residents: dict[str, list[Term]],
    always: tuple[Term, ...],
    worst: Worst,
    left: Band | None = None,
) -> PhaseEstimate:
    """``left``: what the phase before it has dropped in blocks that this one finds no use for."""
    moment, work, logits, moments = worst
    trainer, others = _trainer_and_others(plan, phase, residents, always, work)
    trainer, pages = paged(plan, trainer)
    stays = total([term for term in trainer if term.family == "held"])
    goes = total([term for term in trainer if term.family == "work"])
    slack, room = cached(plan, stays, goes, total(others), logits)
    kept, beyond = growth(plan, logits, room) if left is None else left_behind(plan, left, room)
    on_streams, blocks = apart(plan, trainer, moments, room.mid - kept) if phase in _BACKWARD else (0, [])
    counts = (*trainer, *others)

    def band() -> tuple[int, int]:
        most = most_cached(plan, stays, goes, logits, bool(beyond) and left is None) + total(pages).high + on_streams
        return bounds(
            counts, slack, most, pieces(plan, stays, goes), plan.capacity, plan.recorded and not assumed(plan.model)
        )

    return PhaseEstimate(
        phase,
        moment,
        (*counts, *beyond, *blocks, *where_free(pages, room), slack),
        doubt=band,
        cached=kept + on_streams,
    )


def _trainer_and_others(
    plan: Plan, phase: str, residents: dict[str, list[Term]], always: tuple[Term, ...], work: list[Term]
) -> tuple[list[Term], list[Term]]:
    """What the trainer's allocator has in a phase, and what lies beside it on the card."""
    counted = {term.id for term in work}  # gradients that come with the moment
    stays = [term for what in plan.holds(phase, "gpu") for term in residents[what] if term.id not in counted]
    trainer = [term for term in (*stays, *work) if term.family != "engine"]
    others = [term for term in (*stays, *work) if term.family == "engine"]
    if phase in ("rollout", "init") and any(term.id == "engine_weights" for term in others):
        others.append(engine_activations(plan))
    others += always
    if phase == "load":
        others += broadcast_copies(plan, trainer, total(others))
    return trainer, others


def _worst(moments: list[Moment]) -> Worst:
    """The moment with the largest middle; where another one reaches higher within its band, that height is kept as a term."""
    names, works = [name for name, _ in moments], [work for _, work in moments]
    made = [term for work in works for term in work if term.id == "logits"]
    logits = total([max(made, key=lambda term: term.bytes)]) if made else Band(0, 0, 0)
    if len(moments) == 1:
        return Worst(names[0], works[0], logits, works)
    middles = [sum([term.bytes for term in work]) for work in works]
    tops = [sum([term.high for term in work]) for work in works]
    worst, highest = middles.index(max(middles)), tops.index(max(tops))
    work, beyond = works[worst], tops[highest] - tops[worst]
    if beyond:
        how = f"with longer or more rows the worst moment is the {names[highest]}"
        source = work[0].source if work else ""
        work = [*work, make_term("other_moment", names[highest], "work", Band(0, 0, beyond), how, source)]
    return Worst(names[worst], work, logits, works)


def _resident_terms(plan: Plan, phases: Iterable[str]) -> dict[str, list[Term]]:
    """The terms of every resident of the GPU in these phases, made once for all of them."""
    everything = {what for phase in phases for what in plan.holds(phase, "gpu")}
    terms: dict[str, list[Term]] = {}
    for what in everything:
        own = held(plan, what)
        terms[what] = [own] if own else engine(plan, what)
    return terms
