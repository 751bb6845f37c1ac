"""What stays: weights, gradients, optimizer of each model, as one GPU holds them.

ZeRO (Rajbhandari et al. 2020, arXiv:1910.02054, section 3): 2 + 2 + 12 bytes a parameter in mixed precision, each part divided
by the data-parallel group from its stage on. Adapters: QLoRA (Dettmers et al. 2023, arXiv:2305.14314) for the frozen base.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from diagnose.estimate import tuners
from diagnose.estimate.accumulated import one_micro_batch
from diagnose.estimate.frozen import base_type_unknown, not_quantized
from diagnose.estimate.low_rank import projected, state_elements
from diagnose.estimate.once import once
from diagnose.estimate.part import drawn_share, part_of
from diagnose.estimate.parted import other_size, spread_over, trained_over
from diagnose.estimate.plan import Plan
from diagnose.estimate.residents import WITH_TEACHER, gradients_leave, keeps_masters, optimizer_share, stays_whole
from diagnose.estimate.reward import reward_engine, reward_weights
from diagnose.estimate.roles import as_critic, at_own_stage
from diagnose.estimate.spread import tower_beside
from diagnose.estimate.tables import more_state
from diagnose.estimate.term import Band, count, exactly, make_term
from diagnose.estimate.terms_copy import model_copy, state_dict_copy
from diagnose.estimate.terms_hpz import second_shard
from diagnose.estimate.terms_zero import bucket_of_stage_3
from diagnose.estimate.untold_state import gradients as perhaps_gone
from diagnose.estimate.untold_state import moved_by as with_place
from diagnose.estimate.untold_state import state as perhaps_elsewhere
from diagnose.types import Term

_ZERO = "ZeRO, arXiv:1910.02054, section 3"
_PROJECTED = "GaLore, arXiv:2403.03507, table 1; APOLLO, arXiv:2412.05270, table 1"
_LORA = "LoRA, arXiv:2106.09685, section 4.1; QLoRA, arXiv:2305.14314, section 3"
_ADAPTER_SPLIT = ("full_or_lora", "lora_rank")
_SPLIT = ("zero_stage", "shard_size", "tp", "pp", "ep")
_WHERE = ("optimizer_on_cpu", "optimizer_cpu_fraction")


def shard_bytes(*, parameters: float, bytes_each: float) -> float:
    """A shard's bytes: parameters that one GPU keeps x bytes a parameter."""
    return parameters * bytes_each


def frozen_base_bytes(*, linear: float, other: float, quantized: float, base: float) -> float:
    """A frozen base: linear layers quantized where ``quantized`` > 0, embedding, head and vision tower as ``base`` says."""
    return linear * (quantized or base) + other * base


def held(plan: Plan, what: str, pool: str = "gpu") -> Term | None:
    """The term of one resident for one GPU in a pool; None for a resident that another module makes."""
    if what == "actor_optimizer":
        return _optimizer(plan, optimizer_share(plan.values, pool), pool == "gpu" and keeps_masters(plan.values))
    return _in_any_pool(plan, what)


def held_bytes(plan: Plan, phase: str) -> int:
    """What stays on one GPU in this phase of what the trainer holds."""
    return sum(term.bytes for what in plan.holds(phase, "gpu") if (term := held(plan, what)))


@once
def _in_any_pool(plan: Plan, what: str) -> Term | None:
    """The same in every pool."""
    maker = _MAKERS.get(what)
    return maker(plan) if maker else None


def _weights(plan: Plan) -> Term:
    if plan.adapters:
        return _base_and_adapters(plan)
    size = shard_bytes(parameters=plan.split.shard(3), bytes_each=plan.each.weights)
    how = f"{spread_over(plan, 3)} × {plan.each.weights:g} B"
    frozen = plan.number("frozen_bytes")
    if frozen is not None and frozen < plan.each.weights and plan.trains.whole < plan.split.whole:
        size = frozen * plan.split.shard(3) + (plan.each.weights - frozen) * plan.trains.shard(3)
        how = f"{spread_over(plan, 3)} × {frozen:g} B, {plan.each.weights:g} B of {count(plan.trains.shard(3))} that are trained"
    return make_term("actor_weights", "weights", "held", size, how, _ZERO, (*_SPLIT, "precision"))


def base_bytes(plan: Plan) -> float:
    """The frozen base under adapters, as one GPU holds it."""
    added = plan.trained - tower_beside(plan.model, plan.values)
    return _base_and_adapters(plan).bytes - added * plan.each.weights


def _base_and_adapters(plan: Plan) -> Term:
    share = plan.split.shard(3) / plan.shape.parameters
    other = min(not_quantized(plan), plan.shape.parameters)
    base = frozen_base_bytes(
        linear=(plan.shape.parameters - other) * share,
        other=other * share,
        quantized=plan.each.quantized,
        base=plan.each.base,
    )
    added = plan.trained - tower_beside(plan.model, plan.values)  # a tower that is trained whole is a part of the base
    root = max(0.0, (plan.number("root_bytes") or 0.0) - plan.each.base) if plan.each.quantized else 0.0
    size = base + root * plan.shape.root * share + added * plan.each.weights
    beside = tuners.buffers(plan.model, plan.values) if tuners.kind(plan.model, plan.values) else 0.0
    size += beside * plan.each.weights
    half = 2.0 * plan.shape.parameters * share
    below, beyond = half if "precision" in plan.missing else 0.0, half if base_type_unknown(plan) else 0.0
    each = f"{plan.each.quantized:g} B in linear layers" if plan.each.quantized else f"{plan.each.base:g} B"
    if plan.each.quantized:
        each += (
            f", embedding and head {plan.each.base + root:g} B"
            if root
            else f", {plan.each.base:g} B for the other {count(other)}"
        )
    how = f"frozen base {spread_over(plan, 3)} × {each} + adapters {count(added + beside)} × {plan.each.weights:g} B"
    moved_by = (*_SPLIT, *_ADAPTER_SPLIT, "quantization")
    return make_term("actor_weights", "weights", "held", Band(size - below, size, size + beyond), how, _LORA, moved_by)


def _gradients(plan: Plan) -> Term:
    drawn = drawn_share(plan.model, plan.shape, plan.values) if plan.values.get("strategy") in _DROPPED else 1.0
    size = shard_bytes(parameters=drawn * trained_shard(plan, 2), bytes_each=plan.each.gradients)
    how = f"{trained_over(plan, 2)} × {plan.each.gradients:g} B" + (f" × {drawn:.0%} at a time" if drawn < 1 else "")
    if drops_gradients(plan):
        size, how = _largest_gradient(plan)
    moved_by = with_place(plan, (*_SPLIT, *_ADAPTER_SPLIT, "precision"))
    band = perhaps_less(plan, perhaps_gone(plan, size))
    return make_term("actor_gradients", "gradients", "held", band, how, _ZERO, moved_by)


def _largest_gradient(plan: Plan) -> tuple[float, str]:
    table = min(plan.trained, plan.shape.embedding)
    return plan.each.gradients * table, f"the largest alone, {count(table)} × {plan.each.gradients:g} B"


def drops_gradients(plan: Plan) -> bool:
    """Whether each matrix is updated and its gradient dropped as soon as that comes: by a switch, or as the optimizer's name tells.

    (transformers 4.51 trainer.py: LayerWiseDummyOptimizer; Lv et al. 2023, arXiv:2306.09782)
    """
    name = str(plan.values.get("optimizer", "")).lower()
    return plan.values.get("gradients_by_layer") is True or "layerwise" in name or "lomo" in name


def perhaps_less(plan: Plan, size: Band | float) -> Band:
    """Down to nothing where less is trained than is counted here."""
    band = size if isinstance(size, Band) else exactly(size)
    unread = "trained_names" in plan.values and part_of(plan.model, plan.shape, plan.values) is None
    less = (unread or plan.values.get("partial_training") is True) and not plan.adapters
    return Band(0.0, band.mid, band.high) if less else band


def gradients_so_far(plan: Plan, share: float) -> list[Term]:
    """The part of the gradients that a moment of the backward pass has, where each step starts without any.

    ``zero_grad`` drops them (torch 2.0: ``set_to_none``), so that with one micro batch a step they only come with the backward pass.
    Megatron's buffer and DeepSpeed's of stage 3 are made once, and several micro batches add up: there they stand all the time. Beside
    an optimizer on the host they go there as they come (torch 2.6 distributed/fsdp/_fully_shard/_fsdp_collectives.py: foreach_reduce).
    """
    if (
        drops_gradients(plan)
        or not one_micro_batch(plan)
        or gradients_leave(plan.values)
        or plan.values.get("strategy") not in _DROPPED
        or stays_whole(plan.values)
    ):
        return []
    whole = held(plan, "actor_gradients") or _gradients(plan)
    if plan.values.get("strategy") == "deepspeed" and plan.split.stage == 2:
        share = float(share > 0)  # one buffer for all of them, made with the first
    size, how = share * whole.bytes, f"{share:.0%} of {whole.how}"
    return [make_term("actor_gradients", whole.title, "held", size, how, _ZERO, whole.moved_by)]


_DROPPED = (None, "none", "ddp", "fsdp", "fsdp2", "deepspeed")


@once
def _optimizer(plan: Plan, share: float, masters: bool) -> Term:
    """``share`` of the state that is on one GPU; ``masters``: all of these whatever the share."""
    kept = plan.each.masters if masters else 0.0
    moved = plan.each.optimizer - kept
    size = shard_bytes(parameters=trained_shard(plan, 1), bytes_each=kept + share * moved)
    of_each = (
        f"({kept:g} B of masters + {moved:g} B × {share:g})"
        if kept
        else f"{moved:g} B{f' × {share:g}' if share < 1 else ''}"
    )
    how = f"{trained_over(plan, 1)} × {of_each}"
    elements = state_elements(plan.model, plan.values) if projected(plan.values) and not plan.adapters else None
    if elements is not None:
        return _projected(plan, *elements)
    tables, more = more_state(plan)
    if tables:
        size, how = size + share * more * tables, f"{how} + {count(tables)} of tables × {more:g} B"
    moved_by = (*_SPLIT, *_ADAPTER_SPLIT, "optimizer", "precision", *_WHERE, "precision_aware_optimizer")
    band = perhaps_less(plan, perhaps_elsewhere(plan, size, trained_shard(plan, 1)))
    return make_term("actor_optimizer", "Adam state", "held", band, how, _ZERO, moved_by)


def _projected(plan: Plan, moments: float, projections: float) -> Term:
    """Moments of projected gradients, the projections in the type of the weights, and whole moments of table, head and the rest."""
    each, rest = plan.each.optimizer / 2, plan.trained - (plan.shape.parameters - plan.shape.root)
    size = each * moments + plan.each.weights * projections + plan.each.optimizer * max(0.0, rest)
    how = f"{count(moments)} projected × {each:g} B + {count(max(0.0, rest))} × {plan.each.optimizer:g} B"
    how += f" + projections {count(projections)} × {plan.each.weights:g} B" if projections else ""
    moved_by = ("optimizer", "optimizer_rank", "precision")
    return make_term("actor_optimizer", "Adam state", "held", size, how, _PROJECTED, moved_by)


def _part_of_state(part: str, title: str, plan: Plan) -> Term:
    each: float = getattr(plan.each, part)
    how, size = f"{trained_over(plan, 1)} × {each:g} B", shard_bytes(parameters=trained_shard(plan, 1), bytes_each=each)
    return make_term(f"actor_{part}", title, "held", size, how, _ZERO, (*_SPLIT, "optimizer_offload"))


def _ref(plan: Plan) -> Term:
    moved_by = (*_SPLIT, "has_ref", "ref_offload", "ref_zero_stage")
    if plan.algo in WITH_TEACHER and plan.number("teacher_b"):
        return _teacher(plan)._replace(id="ref_weights")
    plan = at_own_stage(plan, "ref_zero_stage")
    size = shard_bytes(parameters=plan.split.shard(3), bytes_each=plan.each.ref)
    how = f"{spread_over(plan, 3)} × {plan.each.ref:g} B"
    if plan.each.quantized and plan.values.get("ref_place") == "own":
        size, how = base_bytes(plan), f"{spread_over(plan, 3)} as the frozen base of the adapters"
    return make_term("ref_weights", "reference weights", "held", size, how, _ZERO, moved_by)


def _teacher(plan: Plan) -> Term:
    """Another model than the student, sharded in the same way unless a stage of its own says how."""
    stage = int(plan.number("teacher_zero_stage") or 0) if "teacher_zero_stage" in plan.values else plan.split.stage
    billions, share = plan.number("teacher_b") or 0.0, replace(plan.split, stage=stage).shard(3) / plan.shape.parameters
    size, how = billions * 1e9 * share * plan.each.ref, f"{billions:g} G × {share:.3g} × {plan.each.ref:g} B"
    moved_by = (*_SPLIT, "has_ref", "ref_offload", "teacher_b", "teacher_zero_stage")
    return make_term("teacher_weights", "teacher's weights", "held", size, how, _ZERO, moved_by)


def _critic(part: str, title: str, stage: int) -> Callable[[Plan], Term]:
    def make(actor: Plan) -> Term:
        plan = as_critic(actor)
        if (
            part == "weights"
            and plan.adapters
            and not any("critic_optimizer" in what for what in plan.residents.values())
        ):
            # trained by adapters of its own, on a frozen base like the actor's (OpenRLHF trainer/ray/ppo_critic.py: lora_rank)
            base = _base_and_adapters(plan)
            size = base.bytes * plan.critic_share
            return make_term("critic_weights", title, "held", size, base.how, _LORA, (*base.moved_by, "has_critic"))
        each: float = getattr(plan.each, part)
        size = shard_bytes(parameters=plan.split.shard(stage), bytes_each=each)
        how = f"{spread_over(plan, stage)} × {each:g} B"
        if other := other_size(plan, "critic_b", stage, each):
            size, how = other
        if part == "gradients" and drops_gradients(plan):
            size, how = _largest_gradient(plan)
        return make_term(f"critic_{part}", title, "held", size, how, _ZERO, (*_SPLIT, "has_critic", "critic_b"))

    return make


def trained_shard(plan: Plan, from_stage: int) -> float:
    """Trained parameters that one GPU keeps of something that is sharded from this ZeRO stage on."""
    return plan.trains.shard(from_stage)


_MAKERS: dict[str, Callable[[Plan], Term]] = {
    "actor_weights": _weights,
    "actor_gradients": _gradients,
    "actor_masters": partial(_part_of_state, "masters", "fp32 masters"),
    "actor_moments": partial(_part_of_state, "moments", "Adam's moments"),
    "ref_weights": _ref,
    "teacher_weights": _teacher,
    "reward_weights": reward_weights,
    "reward_engine": reward_engine,
    "critic_weights": _critic("weights", "critic weights", 3),
    "critic_gradients": _critic("gradients", "critic gradients", 2),
    "critic_optimizer": _critic("optimizer", "critic Adam state", 1),
    "critic_masters": _critic("masters", "critic's fp32 masters", 1),
    "state_dict_copy": state_dict_copy,
    "model_copy": lambda plan: model_copy(plan, _weights(plan)),
    "second_shard": second_shard,
    "actor_bucket": partial(bucket_of_stage_3, "actor"),
    "critic_bucket": partial(bucket_of_stage_3, "critic"),
}
