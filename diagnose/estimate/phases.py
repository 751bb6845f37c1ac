"""The GPU over the phases of a run: residents, what each phase needs beside them, the engine, the fixed part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from diagnose.estimate.doubt import bounds
from diagnose.estimate.engine import engine, engine_activations
from diagnose.estimate.plan import Plan
from diagnose.estimate.residents import critic_in_one_pass
from diagnose.estimate.roles import of_critic, on_cards
from diagnose.estimate.term import Band, make_term, total
from diagnose.estimate.terms_activation import head_inputs, kept, kept_by_hooks, no_grad, recomputed
from diagnose.estimate.terms_fixed import (
    broadcast_copies,
    cached,
    fixed,
    growth,
    most_cached,
    paged,
    pieces,
    where_free,
)
from diagnose.estimate.terms_gather import (
    adam_temporaries,
    bucketed,
    cast_in_forward,
    gathered,
    gradients_between,
    layer_gradient,
    pipeline_gradients,
    ref_sync,
    root_gradient,
    sync_transient,
)
from diagnose.estimate.terms_held import gradients_so_far, held
from diagnose.estimate.terms_load import load_transient
from diagnose.estimate.terms_logits import logits_forward, logits_train
from diagnose.estimate.terms_quantized import dequantized, head_cast, quantized_inputs
from diagnose.estimate.terms_vision import vision_tower
from diagnose.estimate.tokens import take
from diagnose.types import PhaseEstimate, Term

Moment = tuple[str, list[Term]]
_CACHED = ("allocator_slack", "broadcast_copies")


class Worst(NamedTuple):
    """The worst moment of a phase, and the most logits that any of its moments holds."""

    moment: str
    work: list[Term]
    logits: Band


_CRITICS_OWN = ("gradient_checkpointing", "remove_padding")  # set for the critic by keys of its own in some trainers
_AWAKE = ("init", "weight_sync", "rollout")  # an engine that sleeps stands here with weights and pool


def gpu_phases(plan: Plan, phases: tuple[str, ...]) -> tuple[PhaseEstimate, ...]:
    """These phases, each at its worst moment."""
    cards = {phase: on_cards(plan, phase) for phase in phases}
    # two phases of the same kind on as many cards, as the log-probs of actor and reference, need the same
    makers = {phase: (_MOMENTS.get(phase, _nothing), on.gpus) for phase, on in cards.items()}
    of_kind = {makers[phase]: on for phase, on in cards.items()}
    worst = {kind: _worst(kind[0](on)) for kind, on in of_kind.items()}
    of_size = {on.gpus: on for on in cards.values()}
    always = {gpus: (_resident_terms(on, phases), fixed(on)) for gpus, on in of_size.items()}
    return tuple(_phase(on, phase, *always[on.gpus], worst[makers[phase]]) for phase, on in cards.items())


def trainer_bytes(phase: PhaseEstimate) -> int:
    """What the trainer itself has allocated: held and work, without engine and fixed part."""
    return sum(term.bytes for term in phase.terms if term.family in ("held", "work"))


def reserved_bytes(phase: PhaseEstimate) -> int:
    """What the trainer's allocator has reserved."""
    shown = sum(term.bytes for term in phase.terms if term.id in _CACHED)
    return trainer_bytes(phase) + phase.cached + shown


def inside_bytes(plan: Plan, phase: PhaseEstimate) -> int:
    """What an engine in the trainer's own process adds to its counters of torch, where it does not generate.

    One that sleeps leaves its graphs behind, one that never does its weights and its pool as well: torch counts private pools and
    those of another allocator like its own (torch 2.6 c10/cuda/CUDACachingAllocator.cpp: PrivatePool).
    """
    alone = (plan.number("processes_per_gpu") or 1.0) > 1 or plan.values.get("rollout_mode") != "colocated"
    if alone or phase.phase in _AWAKE:
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
    if "awake" not in plan.known:
        plan.known["awake"] = [term for what in plan.holds("rollout", "gpu") for term in engine(plan, what)]
    return [term for term in plan.known["awake"] if term.id not in here]


def _phase(
    plan: Plan, phase: str, residents: dict[str, list[Term]], always: tuple[Term, ...], worst: Worst
) -> PhaseEstimate:
    moment, work, logits = worst
    counted = {term.id for term in work}  # gradients that come with the moment
    trainer: list[Term] = []
    others: list[Term] = []
    for what in plan.holds(phase, "gpu"):
        for term in residents[what]:
            if term.id not in counted:
                (others if term.family == "engine" else trainer).append(term)
    trainer += [term for term in work if term.family != "engine"]
    others += [term for term in work if term.family == "engine"]
    if phase in ("rollout", "init") and any(term.id == "engine_weights" for term in others):
        others.append(engine_activations(plan))
    others += always
    if phase == "load":
        others += broadcast_copies(plan, trainer, total(others))
    trainer, pages = paged(plan, trainer)
    stays = total([term for term in trainer if term.family == "held"])
    goes = total([term for term in trainer if term.family == "work"])
    slack, room = cached(plan, stays, goes, total(others))
    kept, beyond = growth(plan, logits, room)
    counts = (*trainer, *others)

    def band() -> tuple[int, int]:
        most = most_cached(plan, stays, goes, logits, bool(beyond)) + total(pages).high
        return bounds(counts, slack, most, pieces(plan, stays, goes), plan.capacity)

    return PhaseEstimate(
        phase, moment, (*counts, *beyond, *(where_free(term, room) for term in pages), slack), doubt=band, cached=kept
    )


def _worst(moments: list[Moment]) -> Worst:
    """The moment with the largest middle; where another one reaches higher within its band, that height is kept as a term."""
    name, work = max(moments, key=_middle) if len(moments) > 1 else moments[0]
    made = [term for one in moments for term in one[1] if term.id == "logits"]
    logits = total([max(made, key=lambda term: term.bytes)]) if made else Band(0, 0, 0)
    if len(moments) == 1:
        return Worst(name, work, logits)
    other, highest = max(((one[0], sum([term.high for term in one[1]])) for one in moments), key=lambda one: one[1])
    beyond = highest - sum([term.high for term in work])
    if beyond <= 0:
        return Worst(name, work, logits)
    how = f"with longer or more rows the worst moment is the {other}"
    source = work[0].source if work else ""
    return Worst(name, [*work, make_term("other_moment", other, "work", Band(0, 0, beyond), how, source)], logits)


def _middle(moment: Moment) -> int:
    return sum([term.bytes for term in moment[1]])


def _resident_terms(plan: Plan, phases: Iterable[str]) -> dict[str, list[Term]]:
    """The terms of every resident of the GPU in these phases, made once for all of them."""
    everything = {what for phase in phases for what in plan.holds(phase, "gpu")}
    terms: dict[str, list[Term]] = {}
    for what in everything:
        own = held(plan, what)
        terms[what] = [own] if own else engine(plan, what)
    return terms


def _nothing(plan: Plan) -> list[Moment]:
    return [("throughout", [])]


def _load(plan: Plan) -> list[Moment]:
    return [("loading", [] if plan.serves else load_transient(plan))]


def _weight_sync(plan: Plan) -> list[Moment]:
    handed = [("weights on their way to the engine", sync_transient(plan))]
    mixed = ref_sync(plan)
    own = [*handed, ("bringing the reference up to date", mixed)] if mixed else handed
    return [*own, ("waking the engine's cache", engine(plan, "kv_pool"))] if _cache_wakes(plan) else own


def _cache_wakes(plan: Plan) -> bool:
    """Whether the engine's allocator failed as it woke: in the end its cache must find its place beside what the trainer holds.

    (vLLM v0.8.5 vllm/device_allocator/cumem.py, wake_up: maps weights and cache, or those of the tags alone.)
    """
    woken = plan.values.get("engine_maps_pool") is True and plan.values.get("weights_wake") is not True
    return woken and "kv_pool" in plan.holds("rollout", "gpu") and "kv_pool" not in plan.holds("weight_sync", "gpu")


def _evaluation(plan: Plan) -> list[Moment]:
    """What one pass of it holds, where its own batch is known; what is kept of all passes until the end is not."""
    return _forward(plan, "eval") if "eval_micro_batch" in plan.values else _nothing(plan)


def _forward(plan: Plan, kind: str = "logprob") -> list[Moment]:
    one = take(plan, kind)
    terms = [*gathered(plan), *no_grad(plan, one)]
    tower = vision_tower(plan, one, trains=False) if plan.stage != "last" else []
    logits = logits_forward(plan, one) if plan.stage != "first" else []
    return [("forward pass", [*terms, *tower, *logits])]


def _by_critics_keys(plan: Plan) -> Plan:
    """The plan with the critic's own settings, where it has keys of its own, in the place of the actor's."""
    own = {id: plan.values[f"critic_{id}"] for id in _CRITICS_OWN if f"critic_{id}" in plan.values}
    return replace(plan, values={**plan.values, **own}) if own else plan


def _values(actor: Plan) -> list[Moment]:
    plan = _by_critics_keys(actor)
    one = take(plan, "critic")
    return [("forward pass", of_critic(plan, [*gathered(plan), *no_grad(plan, one)]))]


def _reward(plan: Plan) -> list[Moment]:
    """The forward pass of a reward model on the cards, whose head gives one number a row; as large as the policy where nothing tells."""
    loaded = plan.values.get("has_reward_model", plan.values.get("phase") == "reward")
    if plan.does.get("reward_rows") != "logprob_micro_batch" or loaded is not True:
        return _nothing(plan)
    one = take(plan, "logprob")
    return [("forward pass", [*gathered(plan), *no_grad(plan, one)])]


def _critic(actor: Plan) -> list[Moment]:
    plan = _by_critics_keys(actor)
    one = take(plan, "critic")
    gathers, checkpoints = gathered(plan), kept(plan, one)
    again = [*gathers, *checkpoints, *recomputed(plan, one), *layer_gradient(plan)]
    return [
        ("recomputing a layer", of_critic(plan, again)),
        ("end of the backward pass", of_critic(plan, [*gathers, *root_gradient(plan)])),
    ]


def _actor_update(plan: Plan) -> list[Moment]:
    one, stages = take(plan, "update"), plan.whole("pp")
    between = [*pipeline_gradients(plan), *gradients_between(plan)]
    gathers, tower = [*gathered(plan), *bucketed(plan), *between], vision_tower(plan, one, trains=True)
    # With pipeline stages the logits stand on the last one, which has a single micro batch in flight.
    layers = kept(plan, one)
    last_stage = [*layers, *tower] if stages == 1 else kept(plan, one, stages)
    if plan.stage == "last":
        tower = []
    head = [*last_stage, *head_inputs(plan, one), *head_cast(plan)]
    again = [*recomputed(plan, one), *layer_gradient(plan)]
    first, whole = gradients_so_far(plan, 1 / (plan.model.layers + 1)), gradients_so_far(plan, 1.0)
    none_yet = gradients_so_far(plan, 0.0)
    forward = [*gathers, *cast_in_forward(plan), *head, *none_yet, *dequantized(plan, head=True)]
    backward = [*gathers, *head, *none_yet, *dequantized(plan, head=True)]
    again += [*dequantized(plan, head=False), *quantized_inputs(plan, one, before=False)]
    body: list[Moment] = [
        ("recomputing a layer", [*gathers, *layers, *tower, *again, *first, *kept_by_hooks(plan, one)]),
        *_last_layer(plan, [*gathers, *again]),
        ("end of the backward pass", [*gathers, *root_gradient(plan), *whole]),
    ]
    if plan.stage == "first":
        return body
    return [
        ("end of the forward pass", [*forward, *quantized_inputs(plan, one, before=True), *logits_forward(plan, one)]),
        (
            "start of the backward pass",
            [*backward, *quantized_inputs(plan, one, before=False), *logits_train(plan, one)],
        ),
        *body,
    ]


def _update_of_both(plan: Plan) -> list[Moment]:
    """The update where the critic is one module with the actor: what it kept stays until the actor's own backward pass is over.

    (trl v0.17.0 trl/trainer/ppo_trainer.py: PolicyAndValueWrapper goes through the critic first.)
    """
    moments = _actor_update(plan)
    if not critic_in_one_pass(plan.values, plan.does):
        return moments
    beside = [term._replace(id=f"critic_{term.id}") for term in of_critic(plan, kept(plan, take(plan, "critic")))]
    return [(name, [*work, *beside]) for name, work in moments]


def _last_layer(plan: Plan, work: list[Term]) -> list[Moment]:
    """The last layer that is recomputed, when each step starts without gradients: all are there but those of the root unit."""
    root = plan.shape.root / plan.shape.parameters if root_gradient(plan) else 0.0
    gradients = gradients_so_far(plan, 1 - root)
    return [("recomputing the last layer", [*work, *gradients])] if gradients else []


def _optimizer_step(plan: Plan) -> list[Moment]:
    return [("step", adam_temporaries(plan))]


_MOMENTS: dict[str, Callable[[Plan], list[Moment]]] = {
    "load": _load,
    "weight_sync": _weight_sync,
    "logprob": _forward,
    "ref_logprob": _forward,
    "reward": _reward,
    "values": _values,
    "critic": _critic,
    "actor_update": _update_of_both,
    "optimizer_step": _optimizer_step,
    "eval": _evaluation,
}
