"""What each phase of a run needs on the GPU beside its residents, moment by moment: a name and the terms of that moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from diagnose.estimate.engine import engine
from diagnose.estimate.once import once
from diagnose.estimate.plan import BETWEEN, Plan
from diagnose.estimate.rank import autocasts
from diagnose.estimate.residents import critic_in_one_pass
from diagnose.estimate.roles import as_critic, of_critic
from diagnose.estimate.terms_activation import before_head, head_inputs, kept, no_grad, recomputed
from diagnose.estimate.terms_experts import experts_at_once
from diagnose.estimate.terms_gather import (
    bucketed,
    buckets_of_replicas,
    cast_in_forward,
    cast_to_generate,
    frozen_casts,
    gathered,
    gathered_at_end,
    gathered_at_head,
    gathered_at_loss,
    gathering,
    gradients_between,
    pipeline_gradients,
    pipelined,
)
from diagnose.estimate.terms_held import gradients_so_far
from diagnose.estimate.terms_hooks import kept_by_hooks
from diagnose.estimate.terms_load import load_transient, optimizer_built
from diagnose.estimate.terms_logits import logits_after, logits_forward, logits_left, logits_train, loss_in_chunks
from diagnose.estimate.terms_megatron import gradient_stand_ins, left_by_dispatchers
from diagnose.estimate.terms_quantized import dequantized, head_cast, quantized_inputs
from diagnose.estimate.terms_root import last_gradients, layer_gradient, root_gradient, waiting_gradient
from diagnose.estimate.terms_router import balancing_loss
from diagnose.estimate.terms_step import adam_temporaries
from diagnose.estimate.terms_sync import ref_sync, sync_transient
from diagnose.estimate.terms_vision import vision_tower
from diagnose.estimate.terms_zero import further_gradients, laid_out
from diagnose.estimate.tokens import Pass, take
from diagnose.types import Term

Moment = tuple[str, list[Term]]
_CRITICS_OWN = (
    "gradient_checkpointing",
    "remove_padding",
    "dynamic_batch",
    "sp",
    "activation_offload",
)  # set for the critic by keys of its own in some trainers


def nothing(plan: Plan) -> list[Moment]:
    return [("throughout", [])]


def _load(plan: Plan) -> list[Moment]:
    if plan.serves:
        return [("loading", [])]
    return (
        [("building the optimizer", built)] if (built := optimizer_built(plan)) else [("loading", load_transient(plan))]
    )


def _rollout(plan: Plan) -> list[Moment]:
    return [("generating", casts)] if (casts := cast_to_generate(plan)) else nothing(plan)


def _weight_sync(plan: Plan) -> list[Moment]:
    handed = [("weights on their way to the engine", sync_transient(plan))]
    mixed = ref_sync(plan)
    own = [*handed, ("bringing the reference up to date", mixed)] if mixed else handed
    if not _cache_wakes(plan):
        return own
    woken = [("waking the engine's cache", engine(plan, "kv_pool"))]
    # where the cache alone is told to wake, the weights were handed over before
    return woken if plan.values.get("weights_wake") is False else [*own, *woken]


def _cache_wakes(plan: Plan) -> bool:
    """Whether an engine failed as its cache woke, which must find its place beside what the trainer holds: the traceback says it of the
    cache alone, or its allocator failed and nothing says that it was at the weights.

    (vLLM v0.8.5 vllm/device_allocator/cumem.py, wake_up: maps weights and cache, or those of the tags alone.)
    """
    weights = plan.values.get("weights_wake")
    woken = weights is False or (plan.values.get("engine_maps_pool") is True and weights is not True)
    return woken and "kv_pool" in plan.holds("rollout", "gpu") and "kv_pool" not in plan.holds("weight_sync", "gpu")


def _evaluation(plan: Plan) -> list[Moment]:
    """What one pass of it holds, where its own batch is known; what is kept of all passes until the end is not."""
    if "eval_micro_batch" not in plan.values:
        return nothing(plan)
    return [(name, [*terms, *cast_in_forward(plan)]) for name, terms in _forward(plan, "eval")]


def _logprob(plan: Plan) -> list[Moment]:
    return _forward(plan, "logprob")


@once
def _forward(plan: Plan, kind: str) -> list[Moment]:
    """A layer's tensors are gone when the logits are made, and so are a layer's weights where each layer is gathered by itself."""
    one = take(plan, kind)
    tower = vision_tower(plan, one, trains=False) if plan.stage in ("", "first") else []
    through_layers = ("forward pass", [*gathered(plan), *no_grad(plan, one), *experts_at_once(plan, one), *tower])
    logits = logits_forward(plan, one, kind) if plan.stage in ("", "last") else []
    if not logits:
        return [*_begins(gathering(plan)), through_layers]
    return [
        *_begins(gathering(plan)),
        through_layers,
        ("logits", [*gathered_at_head(plan), *before_head(plan, one), *logits]),
    ]


def _begins(terms: list[Term]) -> list[Moment]:
    return [("start of the forward pass", terms)] if terms else []


def _ref_forward(plan: Plan) -> list[Moment]:
    """Of a frozen reference, which is a copy of the policy, autocast keeps no casts: its cache holds what asks for gradients."""
    alike = "entropy_forward_bytes" not in plan.does and take(plan, "ref") == take(plan, "logprob")
    moments = _forward(plan, "logprob" if alike else "ref")
    if plan.does.get("ref_frozen") != "yes" or not autocasts(plan):
        return moments
    return [(name, [term for term in terms if term.id != "gathers"]) for name, terms in moments]


def _by_critics_keys(plan: Plan) -> Plan:
    """The plan with the critic's own settings, where it has keys of its own, in the place of the actor's."""
    own = {id: plan.values[f"critic_{id}"] for id in _CRITICS_OWN if f"critic_{id}" in plan.values}
    return replace(plan, values={**plan.values, **own}) if own else plan


def _values(actor: Plan) -> list[Moment]:
    plan = as_critic(_by_critics_keys(actor))
    one = take(plan, "values")
    through = ("forward pass", of_critic(plan, [*gathered(plan), *no_grad(plan, one)]))
    return [*_begins(of_critic(plan, gathering(plan))), through]


def _reward(plan: Plan) -> list[Moment]:
    """The forward pass of a reward model on the cards, whose head gives one number a row, beside logits where it has both; as
    large as the policy where nothing tells."""
    loaded = plan.values.get("has_reward_model", plan.values.get("phase") == "reward")
    if plan.does.get("scored_rows") != "logprob_micro_batch" or loaded is not True:
        return nothing(plan)
    one = take(plan, "logprob")
    logits = logits_after(plan, one) if plan.does.get("reward_head") == "beside_logits" else []
    return [("forward pass", [*gathered(plan), *no_grad(plan, one), *logits])]


def _critic(actor: Plan) -> list[Moment]:
    plan = as_critic(_by_critics_keys(actor))
    one = take(plan, "critic")
    gathers, checkpoints, reduces = gathered(plan), kept(plan, one), bucketed(plan)
    again = [*gathers, *checkpoints, *recomputed(plan, one), *layer_gradient(plan, pipelined(plan))]
    return [
        ("recomputing a layer", [*of_critic(plan, again), *reduces, *laid_out(plan)]),
        ("end of the backward pass", [*of_critic(plan, [*gathered_at_end(plan), *root_gradient(plan)]), *reduces]),
        ("step", of_critic(plan, adam_temporaries(plan))),
    ]


def _actor_update(plan: Plan) -> list[Moment]:
    one, stages = take(plan, "update"), plan.whole("pp")
    between = [*pipeline_gradients(plan), *gradients_between(plan)]
    together, between = [*gathered(plan), *frozen_casts(plan)], [*between, *gradient_stand_ins(plan)]
    before = [*together, *bucketed(plan, first_gradient=False), *between]
    reduces = [*bucketed(plan), *further_gradients(plan)]
    gathers = [*together, *reduces, *laid_out(plan), *between]
    tower = vision_tower(plan, one, trains=True)
    # With pipeline stages the logits stand on the last one, which has a single micro batch in flight.
    layers = kept(plan, one)
    last_stage = [*layers, *tower] if stages == 1 else kept(plan, one, stages)
    if plan.stage in ("last", BETWEEN):
        tower = []
    head = [*last_stage, *head_inputs(plan, one), *head_cast(plan)]
    again = [*recomputed(plan, one), *layer_gradient(plan, pipelined(plan)), *waiting_gradient(plan)]
    first, whole = gradients_so_far(plan, 1 / (plan.model.layers + 1)), gradients_so_far(plan, 1.0)
    none_yet = gradients_so_far(plan, 0.0)
    at_head = [*head, *none_yet, *dequantized(plan, head=True), *loss_in_chunks(plan, one)]
    own_inputs, all_inputs = (quantized_inputs(plan, one, before=before) for before in (False, True))
    again += [*dequantized(plan, head=False), *own_inputs]
    body: list[Moment] = [
        ("recomputing a layer", [*gathers, *layers, *tower, *again, *first, *kept_by_hooks(plan, one)]),
        *_last_layer(plan, [*gathers, *again]),
        ("end of the backward pass", [*gathered_at_end(plan), *reduces, *between, *root_gradient(plan), *whole]),
    ]
    if plan.stage in ("first", BETWEEN):
        return body
    return [
        (
            "end of the forward pass",
            [*before, *cast_in_forward(plan), *at_head, *all_inputs, *logits_forward(plan, one)],
        ),
        (
            "start of the backward pass",
            [*gathered_at_loss(plan, before), *at_head, *own_inputs, *logits_train(plan, one)],
        ),
        *_routers(plan, one, [*before, *at_head]),
        *body,
    ]


def _routers(plan: Plan, one: Pass, beside: list[Term]) -> list[Moment]:
    """The loss on the routers, where there is one: after the logits and their own loss, if the model takes that."""
    loss = balancing_loss(plan, one)
    return [("loss on the routers", [*beside, *logits_after(plan, one), *loss])] if loss else []


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
    """The last layer that is recomputed, when each step starts without gradients: all but its own and those after."""
    gradients = gradients_so_far(plan, 1 - last_gradients(plan))
    return [("recomputing the last layer", [*work, *gradients])] if gradients else []


def _optimizer_step(plan: Plan) -> list[Moment]:
    one = take(plan, "update")
    left = [*left_by_dispatchers(plan, one), *logits_left(plan, one)]
    beside = [*buckets_of_replicas(plan), *gradient_stand_ins(plan), *left]
    return [("step", [*beside, *adam_temporaries(plan)])]


MOMENTS: dict[str, Callable[[Plan], list[Moment]]] = {
    "load": _load,
    "rollout": _rollout,
    "weight_sync": _weight_sync,
    "logprob": _logprob,
    "ref_logprob": _ref_forward,
    "reward": _reward,
    "values": _values,
    "critic": _critic,
    "actor_update": _update_of_both,
    "optimizer_step": _optimizer_step,
    "eval": _evaluation,
}
