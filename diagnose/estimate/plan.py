"""What exists in this run: the phases, what stays in which pool during each, how the framework behaves.

A framework's record is read here, in ``recorded`` and in ``residents``, nowhere else in the estimate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from diagnose.batch import Values, whole
from diagnose.conditions import version
from diagnose.estimate.built import as_trained, headed, run_model
from diagnose.estimate.capacity import gpu_capacity
from diagnose.estimate.other_cards import on_other_cards
from diagnose.estimate.recorded import recorded
from diagnose.estimate.residents import (
    ENGINES,
    SERVING,
    Residents,
    has_critic,
    has_engine,
    has_reference,
    is_online,
    of_server,
    residents,
    without_engine,
)
from diagnose.estimate.shape import Shape, shape
from diagnose.estimate.sharding import ParameterBytes, Split, parameter_bytes, zero_stage
from diagnose.estimate.spread import Spread, spread
from diagnose.knowledge.hardware import Gpu, Model
from diagnose.knowledge.records import Framework
from diagnose.types import Facts, FailedRow
from diagnose.vocabulary import PHASES, Origin, Pool, Value

# Algorithms that train on pairs: every row of a batch is two sequences.
PAIRED = ("dpo", "spin", "simpo", "orpo", "cpo", "rm", "online_dpo")
FILLED = ("pretrain",)  # documents are joined until every row is full
# Tasks whose head gives one number, or a few, instead of a logit for every word.
RERANKERS = ("sft_reranker", "reranker")
WITHOUT_LOGITS = ("rm", "sft_embedding", "sft_seq_cls", "embedding", "seq_cls", *RERANKERS)
# Of these the head is another one, as narrow as its answer: transformers AutoModelForSequenceClassification and its like.
WITHOUT_HEAD = ("rm", "sft_embedding", "sft_seq_cls", "embedding", "seq_cls")
BETWEEN = "between"  # a stage of a pipeline that is neither the first nor the last
OFFLINE_PHASES = ("load", "actor_update", "optimizer_step", "checkpoint")
_ASKED_FOR = {"has_reward_model": "reward", "saves": "checkpoint"}  # phases that a run has unless it is told not to
_SAMPLING = ("init", "weight_sync", "rollout")
_ONLINE_PHASES = ("load", "rollout", "logprob", "ref_logprob", "values", "critic", "actor_update", "optimizer_step")


@dataclass(frozen=True, slots=True)
class Plan:
    """A run as the terms need it. ``adapters`` counts trained parameters under LoRA, 0 without; ``gpus`` those that train.

    ``split`` spreads the whole model, ``trains`` what has a gradient. The layers of one copy are ``laid`` over so many of them.
    ``stage``: the plan is that of the "first", the "last" or a stage "between" of a pipeline, with so many layers.
    ``serves``: nobody trains; an engine runs alone. ``recorded``: a record tells of this very trainer. ``card``: the catalogue's record of
    the GPU; ``transformers``, ``deepspeed``: those packages' versions. ``failed_row``: what the size that was asked for tells of the rows
    of the pass that failed. ``prompts_open``: the trainer's own default alone limits prompts. ``builds_optimizer``: as in Facts.
    ``otherwise`` is the same run on other numbers of cards, where nobody tells it. ``known``: what was worked out of this plan (once.py).
    """

    values: Values
    assumed: frozenset[str]
    defaults: frozenset[str]
    model: Model
    shape: Shape
    framework: Framework
    phases: tuple[str, ...]
    residents: Residents
    does: Mapping[str, Value]
    each: ParameterBytes
    split: Split
    trains: Split
    gpus: int
    adapters: float
    online: bool
    capacity: int | None
    capacity_why: str
    missing: tuple[str, ...]
    laid: int = 1
    stage: str = ""
    stage_layers: float = 0
    serves: bool = False
    recorded: bool = True
    card: Gpu | None = None
    transformers: str | None = None
    deepspeed: str | None = None
    failed_row: FailedRow | None = None
    prompts_open: bool = False
    builds_optimizer: bool = False
    otherwise: tuple[Plan, ...] = ()
    known: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def number(self, id: str) -> float | None:
        """A behaviour or fact that is a number."""
        value = self.does.get(id, self.values.get(id))
        if type(value) is float:
            return value
        return float(value) if type(value) is int else None

    def whole(self, id: str) -> int:
        """A whole number that divides something: 1 when it is unknown."""
        return whole(self.values, id) or 1

    def holds(self, phase: str, pool: Pool) -> tuple[str, ...]:
        return self.residents.get((phase, pool), ())

    @property
    def algo(self) -> str:
        return str(self.values.get("algo", ""))

    @property
    def trained(self) -> float:
        """Parameters with a gradient on one GPU before data-parallel sharding."""
        return self.trains.whole

    @property
    def critic_share(self) -> float:
        """Parameters of the critic for each of the actor's: one where nothing tells its size."""
        billions = self.number("critic_b")
        return billions * 1e9 / self.shape.parameters if billions else 1.0

    @property
    def gathers_logits(self) -> bool:
        """Whether a reranker picks its two words out of logits that every rank has whole."""
        return self.algo in RERANKERS and self.does.get("reranker_head") == "gathered_logits"

    @property
    def unread_logits(self) -> bool:
        """Whether a reward model makes logits that no loss reads, so that they are gone before the backward pass."""
        return self.algo == "rm" and self.does.get("reward_head") == "beside_logits"

    @property
    def makes_logits(self) -> bool:
        whole_head = self.algo not in WITHOUT_LOGITS or self.gathers_logits or self.unread_logits
        chunked = self.values.get("logits_chunked") is True and self.does.get("chunked_loss") != "no"
        return whole_head and not chunked


def make_plan(facts: Facts, fallback: Framework | None) -> tuple[Plan | None, tuple[str, ...]]:
    """The plan, or None and the facts without which there is none. A command that neither trains nor serves has none and lacks nothing."""
    plan, missing = _make_plan(facts, fallback)
    others = tuple(one for other in on_other_cards(facts) if (one := _make_plan(other, fallback)[0]))
    if plan is None or not others:
        return plan, missing
    return replace(plan, otherwise=others, missing=("n_gpus", *plan.missing)), missing


def _make_plan(facts: Facts, fallback: Framework | None) -> tuple[Plan | None, tuple[str, ...]]:
    values, framework, model = facts.values, facts.framework or fallback, run_model(facts)
    serves = facts.serves and values.get("rollout_engine") in ENGINES
    elsewhere = facts.fork is not None and facts.fork.trains_elsewhere
    if values.get("trains") is False and not serves or elsewhere or facts.lack:
        return None, ()
    gpus, unread = _cards(values, serves), serves and values.get("engine_quantization") == "other"
    if model is None or gpus is None or framework is None or unread:
        needed = {"model": model, "n_gpus": gpus, "framework": framework, "engine_quantization": None if unread else ""}
        return None, tuple(id for id, known in needed.items() if known is None)
    plan = _planned(facts, framework, model, gpus)
    return (_alone(plan) if serves else plan), ()


def _planned(facts: Facts, framework: Framework, model: Model, gpus: int) -> Plan:
    """The plan of a run of which enough is known."""
    values = facts.values
    told, online = recorded(framework, values), is_online(values, framework)
    does = _behaviours(told.does, framework, facts, values)
    (model, numbers), (capacity, why) = _model_and_shape(model, does, values), gpu_capacity(facts)
    laid_out = spread(model, numbers, values, does, gpus=gpus, capacity=capacity, online=online)
    writes = online or does.get("student_writes") == "yes"
    phases, each = _phases(framework, values, online, writes, does), parameter_bytes(values, does, told.own_precision)
    return Plan(
        values=_in_force(values, does),
        assumed=_of_origin(facts, "assumed"),
        defaults=_of_origin(facts, "default"),
        model=model,
        shape=numbers,
        framework=framework,
        phases=phases,
        residents=residents(told.residents, framework, values, phases, online, writes),
        does=does,
        each=each,
        split=laid_out.everything,
        trains=laid_out.trained,
        gpus=laid_out.gpus,
        adapters=laid_out.adapters,
        online=online,
        capacity=capacity,
        capacity_why=why,
        missing=_unsettled(facts, numbers, each, laid_out, capacity),
        laid=laid_out.laid,
        recorded=not framework.fallback or facts.fork is not None,
        card=facts.gpu,
        transformers=_version_of(facts, "transformers"),
        deepspeed=_version_of(facts, "deepspeed"),
        failed_row=facts.failed_row,
        prompts_open=facts.own_default("prompt_length"),
        builds_optimizer=facts.builds_optimizer,
    )


def _of_origin(facts: Facts, origin: Origin) -> frozenset[str]:
    return frozenset(id for id, fact in facts.stated.items() if fact.origin == origin)


def _cards(values: Values, serves: bool) -> int | None:
    """The cards that train; of an engine alone those of one copy of it."""
    if serves:
        return (whole(values, "rollout_tp") or 1) * (whole(values, "rollout_pp") or 1)
    return whole(values, "trainer_gpus") or whole(values, "n_gpus")


def _alone(plan: Plan) -> Plan:
    """The same without all that a trainer has."""
    return replace(plan, phases=SERVING, residents=of_server(), missing=(), serves=True)


def plan_of(facts: Facts, fallback: Framework | None) -> Plan | None:
    """The plan alone, where nobody asks what is missing."""
    return make_plan(facts, fallback)[0]


def behaviours_of(facts: Facts, fallback: Framework | None) -> Mapping[str, Value]:
    """What the trainer does, also where too little is known for a plan."""
    framework, values = facts.framework or fallback, facts.values
    if framework is None:
        return {}
    return _behaviours(recorded(framework, values).does, framework, facts, values)


@lru_cache(maxsize=64)
def _shape(model: Model) -> Shape:
    return shape(model)


def _model_and_shape(model: Model, does: Mapping[str, Value], values: Values) -> tuple[Model, Shape]:
    """The model as this run trains it, and its numbers, those of a narrow head where it has one."""
    model = as_trained(model, does, values)
    narrow = values.get("algo") in WITHOUT_HEAD and does.get("reward_head") not in ("beside_logits", "kept")
    narrow |= values.get("algo") in RERANKERS and does.get("reranker_head") == "narrow"
    return model, _shape(headed(model, tied=True) if narrow else model)


def _version_of(facts: Facts, package: str) -> str | None:
    return str(facts.versions[package].value) if package in facts.versions else None


def _unsettled(
    facts: Facts, numbers: Shape, each: ParameterBytes, over: Spread, capacity: int | None
) -> tuple[str, ...]:
    """Sharding where nothing tells it, also where the default has none and no card holds the weights whole; and the type of a frozen
    base where a default alone makes it fp32 and no card holds it so: a script that loads the model itself may ask for 16 bits."""
    stage, weights = zero_stage(facts.values), numbers.parameters * each.stored
    # a trainer that only splits models says by these two alone how much of one a card holds
    ids = ("tp", "pp") if facts.values.get("strategy") == "megatron" else ("zero_stage", "strategy", "tp", "pp")
    told = any(id in facts.stated and facts.stated[id].origin != "default" for id in ids)
    whole = not told and stage != 3 and capacity is not None and weights > capacity * over.laid
    sharding = (ids[0],) if over.gpus > over.laid and (stage is None or whole) else ()
    wide = each.base >= 4 and not each.quantized and facts.stated["precision"].origin == "default"
    too_wide = wide and capacity is not None and weights > capacity * (over.gpus if stage == 3 else over.laid)
    return (*sharding, "precision") if too_wide else sharding


def _phases(framework: Framework, values: Values, online: bool, writes: bool, does: Values) -> tuple[str, ...]:
    if not online:
        reference = ("ref_logprob",) if has_reference(values, online) else ()
        alone = ("rollout",) if values.get("rollout_engine") == "hf" else _SAMPLING
        sampling = alone if writes else ()
        between = ("eval",) if values.get("evaluates") is True else ()
        return tuple(phase for phase in PHASES if phase in (*sampling, *reference, *OFFLINE_PHASES, *between))
    listed = framework.phases if "rollout" in framework.phases else _ONLINE_PHASES
    if values.get("only_validates") is True:
        return tuple(phase for phase in PHASES if phase in listed and phase in ("load", *_SAMPLING))
    absent = set() if has_critic(values) else {"values", "critic"}
    absent |= set(without_engine(values))
    absent |= set() if values.get("has_ref") is True else {"ref_logprob"}
    kept = ("reward" if "reward_head" in does else "", values.get("phase"))  # adapters of the policy may score
    absent |= {phase for id, phase in _ASKED_FOR.items() if values.get(id) is False and phase not in kept}
    return tuple(phase for phase in PHASES if phase in listed and phase not in absent)


def _in_force(values: Values, does: Mapping[str, Value]) -> Values:
    """The facts less a setting that the trainer never looks at."""
    return {**values, "gradient_checkpointing": False} if does.get("checkpoints") == "never" else values


def _behaviours(does: Mapping[str, Value], framework: Framework, facts: Facts, values: Values) -> Mapping[str, Value]:
    """The switches that the record has set, a fork's own above all, those of its old releases where its version is told."""
    fork = facts.fork
    if fork is not None and fork in framework.forks:
        told = _version_of(facts, fork.id)
        older = sorted((one for one in fork.before if told and version(told) < version(one)), key=version, reverse=True)
        does = {**does, **fork.does}
        for release in older:
            does |= fork.before[release]
    return does if has_engine(framework, values) else {**does, "kv_rule": "dense"}
