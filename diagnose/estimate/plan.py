"""What exists in this run: the phases, what stays in which pool during each, how the framework behaves.

A framework's record is read here and in ``residents``, nowhere else in the estimate. A condition that an unknown fact would decide
counts as not met.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from diagnose.batch import Values, whole
from diagnose.conditions import holds, in_range
from diagnose.estimate.residents import Residents, has_critic, has_engine, has_reference, residents
from diagnose.estimate.shape import Shape, lora_parameters, shape, shape_from_params, sparse_from_params
from diagnose.estimate.sharding import ZERO_STATE, ParameterBytes, Split, adapters, parameter_bytes, split, zero_stage
from diagnose.knowledge.hardware import Model
from diagnose.knowledge.records import Framework
from diagnose.types import Facts
from diagnose.units import from_gib
from diagnose.vocabulary import ONLINE_ALGOS, PHASES, Pool, Value

# Algorithms that train on pairs: every row of a batch is two sequences.
PAIRED = ("dpo", "simpo", "orpo", "cpo", "rm")
FILLED = ("pretrain",)  # documents are joined until every row is full
# Tasks whose head gives one number, or a few, instead of a logit for every word.
WITHOUT_LOGITS = ("rm", "sft_embedding", "sft_reranker", "sft_seq_cls", "embedding", "reranker", "seq_cls")
OFFLINE_PHASES = ("load", "actor_update", "optimizer_step", "checkpoint")
_ONLINE_PHASES = ("load", "rollout", "logprob", "ref_logprob", "values", "critic", "actor_update", "optimizer_step")
_ACTIVE = re.compile(
    r"[-_]A(\d+(?:\.\d+)?)B(?![A-Za-z])", re.I
)  # 30B-A3B: 30 billion parameters, 3 of them for a token
_LARGEST_CARD = from_gib(192)  # MI300X; of the cards in the catalogue none holds more
_SOLD_TO_SHOWN = 0.985  # a card sold as 80 GB shows about 79 GiB; the rest is firmware and ECC


@dataclass(frozen=True, slots=True)
class Plan:
    """A run as the terms need it. ``adapters`` counts trained parameters under LoRA, 0 without; ``gpus`` those that train."""

    values: Values
    assumed: frozenset[str]
    model: Model
    shape: Shape
    framework: Framework
    phases: tuple[str, ...]
    residents: Residents
    does: Mapping[str, Value]
    each: ParameterBytes
    split: Split
    gpus: int
    adapters: float
    online: bool
    capacity: int | None
    capacity_why: str
    missing: tuple[str, ...]

    def number(self, id: str) -> float | None:
        """A behaviour or fact that is a number."""
        value = self.does.get(id, self.values.get(id))
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def whole(self, id: str) -> int:
        """A whole number that divides something: 1 when it is unknown."""
        return (whole(self.values, id) or 1) if id in self.values else 1

    def holds(self, phase: str, pool: Pool) -> tuple[str, ...]:
        return self.residents.get((phase, pool), ())

    @property
    def algo(self) -> str:
        return str(self.values.get("algo", ""))

    @property
    def trained(self) -> float:
        """Parameters with a gradient on one GPU before data-parallel sharding."""
        return self.adapters / (self.whole("tp") * self.whole("pp")) if self.adapters else self.split.whole

    @property
    def makes_logits(self) -> bool:
        return self.algo not in WITHOUT_LOGITS and self.values.get("logits_chunked") is not True


def run_model(facts: Facts) -> Model | None:
    """The run's model: of the catalogue, else a stand-in of the stated size, sparse where the name says how much a token takes."""
    size = facts.number("params_b")
    if facts.model or not size:
        return facts.model
    active = _ACTIVE.search(str(facts.values.get("model", "")))
    return (_sparse_stand_in(size, float(active[1])) if active else None) or _stand_in(size)


def make_plan(facts: Facts, fallback: Framework | None) -> tuple[Plan | None, tuple[str, ...]]:
    """The plan, or None and the facts without which there is none."""
    values, framework, model = facts.values, facts.framework or fallback, run_model(facts)
    gpus = whole(values, "trainer_gpus") or whole(values, "n_gpus")
    needed = (("model", model is None), ("n_gpus", gpus is None), ("framework", framework is None))
    missing = tuple(id for id, absent in needed if absent)
    if model is None or gpus is None or framework is None:
        return None, missing
    version = _version(values)
    online = _is_online(values, framework)
    does, own_precision = _behaviours(framework, values, version)
    if not has_engine(framework, values):
        does = MappingProxyType({**does, "kv_rule": "dense"})
    numbers = _shape(model)
    capacity, why = gpu_capacity(facts)
    phases = _phases(framework, values, online)
    return Plan(
        values=values,
        assumed=frozenset(id for id, fact in facts.stated.items() if fact.origin == "assumed"),
        model=model,
        shape=numbers,
        framework=framework,
        phases=phases,
        residents=residents(framework, values, version, phases, online),
        does=does,
        each=parameter_bytes(values, does, own_precision),
        split=split(
            values,
            parameters=numbers.parameters,
            experts=_experts(model),
            gpus=gpus,
            assumed_stage=_assumed_stage(values, numbers.parameters, capacity),
        ),
        gpus=gpus,
        adapters=_trained_beside_base(model, values) if adapters(values) else 0.0,
        online=online,
        capacity=capacity,
        capacity_why=why,
        missing=_unsettled(values, gpus),
    ), ()


def plan_of(facts: Facts, fallback: Framework | None) -> Plan | None:
    """The plan alone, where nobody asks what is missing."""
    return make_plan(facts, fallback)[0]


def gpu_capacity(facts: Facts) -> tuple[int | None, str]:
    """Capacity of one GPU in bytes and where it comes from: as printed, as the catalogue has it, else from the size as sold."""
    printed, sold = facts.number("gpu_total_gib"), facts.number("gpu_mem_gib")
    if printed:
        return from_gib(printed), "as the message prints it"
    sold = sold or (facts.gpu.only_size if facts.gpu else None)
    shown = facts.gpu.sizes.get(str(int(sold))) if facts.gpu and sold else None
    if shown:
        return from_gib(shown), "as the driver shows this card"
    if sold:
        return from_gib(sold * _SOLD_TO_SHOWN), f"{_SOLD_TO_SHOWN} of the size as sold"
    return None, ""


@lru_cache(maxsize=64)
def _shape(model: Model) -> Shape:
    return shape(model)


@lru_cache(maxsize=64)
def _sparse_stand_in(params_b: float, active_b: float) -> Model | None:
    return sparse_from_params(params_b, active_b)


@lru_cache(maxsize=64)
def _stand_in(params_b: float) -> Model | None:
    return shape_from_params(params_b)


def _experts(model: Model) -> float:
    if not model.moe:
        return 0.0
    matrices = 3 if model.gated else 2
    return float(
        model.moe.experts * matrices * model.hidden * model.moe.width * (model.layers - model.moe.dense_layers)
    )


def _trained_beside_base(model: Model, values: Values) -> float:
    """Adapters, and where they are trained whole a copy of the embedding and one of the head."""
    copies = 2 * model.vocab * model.hidden if values.get("trains_embeddings") is True else 0
    adapted = lora_parameters(model, whole(values, "lora_rank") or 8, str(values.get("lora_targets", "linear")))
    return float(adapted + copies)


def _version(values: Values) -> str | None:
    version = values.get("framework_version")
    return str(version) if version is not None else None


def _is_online(values: Values, framework: Framework) -> bool:
    if "algo" in values:
        return values["algo"] in ONLINE_ALGOS
    return "rollout" in framework.phases and not framework.fallback


def _unsettled(values: Values, gpus: int) -> tuple[str, ...]:
    return ("zero_stage",) if gpus > 1 and zero_stage(values) is None else ()


def _assumed_stage(values: Values, parameters: int, capacity: int | None) -> int:
    """The stage taken where none is known: 3 where a full training could not even hold its state on one card, else 0.

    Where the card is not known either, on the largest that the catalogue holds.
    """
    whole_state = 0 if adapters(values) else ZERO_STATE * parameters
    return 3 if whole_state > (capacity or _LARGEST_CARD) else 0


def _phases(framework: Framework, values: Values, online: bool) -> tuple[str, ...]:
    if not online:
        reference = ("ref_logprob",) if has_reference(values, online) else ()
        return ("load", *reference, *OFFLINE_PHASES[1:])
    listed = framework.phases if "rollout" in framework.phases else _ONLINE_PHASES
    absent = set()
    if not has_critic(values):
        absent |= {"values", "critic"}
    if values.get("has_ref") is not True:
        absent.add("ref_logprob")
    return tuple(phase for phase in PHASES if phase in listed and phase not in absent)


def _behaviours(framework: Framework, values: Values, version: str | None) -> tuple[Mapping[str, Value], bool]:
    """The switches that hold, the last entry of each counting; and whether the record follows the precision fact itself."""
    does: dict[str, Value] = {}
    own_precision = False
    for entry in framework.behaviours:
        if not in_range(entry.since, entry.until, version):
            continue
        own_precision |= "precision" in entry.when and "weight_bytes" in entry.does
        if holds(entry.when, values):
            does |= entry.does
    return MappingProxyType(does), own_precision
