"""The estimator against bytes that PyTorch really kept: tests/data/measured_cpu.toml, written by benchmarks/oracle.py."""

from __future__ import annotations

import datetime
import tomllib
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from diagnose.batch import resolve
from diagnose.estimate.layer import checkpoint_bytes_per_token
from diagnose.estimate.phases import gpu_phases, trainer_bytes
from diagnose.estimate.plan import Plan, make_plan
from diagnose.estimate.rank import in_fp32
from diagnose.estimate.shape import parameters
from diagnose.estimate.terms_activation import head_inputs, kept
from diagnose.estimate.tokens import take
from diagnose.estimate.tower import tower_bytes_per_patch
from diagnose.knowledge import current
from diagnose.knowledge.frameworks import Behaviour
from diagnose.knowledge.hardware import Model, Moe, Vision
from diagnose.types import Fact, Facts

MEASURED = tomllib.loads((Path(__file__).parents[1] / "data" / "measured_cpu.toml").read_text())
SAVED, STEP, LOGIT = 0.05, 0.07, 0.10  # how far the estimate may be off
_SHAPE = ("hidden", "layers", "heads", "kv_heads", "intermediate", "vocab")


def _points(kind: str) -> list[Any]:
    found = [point for point in MEASURED["point"] if point["kind"] == kind]
    return [pytest.param(point, id="-".join(str(value) for value in list(point.values())[1:11])) for point in found]


@cache
def _model(name: str) -> Model:
    shape = next(model for model in MEASURED["model"] if model["name"] == name)
    moe = Moe(experts=shape["experts"], active=shape["active"], width=shape["width"]) if "experts" in shape else None
    return Model(
        slug=name,
        title=name,
        body="",
        reviewed=datetime.date(2026, 11, 21),
        sources=("benchmarks/oracle.py",),
        **{key: shape[key] for key in _SHAPE},
        tied=shape.get("tied", False),
        head_dim=shape.get("head_dim", 0),
        published=0,
        params_b=0.01,
        max_position=8192,
        attention_bias="qwen2" in name,
        qk_norm="qwen3" in name,
        moe=moe,
    )


@cache
def _of_family(name: str) -> Model:
    """The catalogue's record of a family in the size that was measured, with attention and experts in every layer but the dense ones."""
    size = next(family for family in MEASURED["family"] if family["name"] == name)
    record = current().models[size["record"]]
    parts = {
        part: replace(kind, **{one.name: size[one.name] for one in fields(kind) if one.name in size})
        for part in ("moe", "latent")
        if (kind := getattr(record, part))
    }
    numbers = {key: size[key] for key in (*_SHAPE, "head_dim") if key in size}
    return replace(
        record, title=name, **{"head_dim": 0, **numbers}, **parts, vision=None, mixer=None, attention_layers=0
    )


def _plan(point: dict[str, Any]) -> Plan:
    """The plan that the pipeline makes of these facts, for a trainer that the catalogue does not hold."""
    values = {
        "algo": "sft",
        "n_gpus": 1,
        "strategy": "none",
        "zero_stage": 0,
        "micro_batch": point["rows"],
        "max_length": point["length"],
        "real_response_length": point["length"],
        "precision": point["precision"],
        "gradient_checkpointing": point["checkpointing"] != "off",
        "full_or_lora": "lora" if point["lora_rank"] else "full",
        "lora_rank": point["lora_rank"] or 8,
        "adapter_dropout": False,
        "remove_padding": not point["padded"],
        "fused_optimizer": point["optimizer"] == "fused",
        "gradient_accumulation": point["accumulation"],
        "logits_chunked": False,
    }
    if point["attention"] != "sdpa":
        values["flash_attention"] = point["attention"] == "fused"
    stated = {id: Fact(id, value, "answered") for id, value in values.items()}
    framework = current().fallback
    if point.get("adapters") == "bf16":
        framework = replace(framework, behaviours=(*framework.behaviours, Behaviour(does={"adapter_bytes": 2})))
    model = (_of_family if point["kind"].startswith("family") else _model)(point["model"])
    facts = Facts(stated=stated, values=resolve(stated), framework=framework, model=model)
    plan, missing = make_plan(facts, None)
    assert plan, missing
    return plan


@pytest.mark.parametrize("point", [*_points("kept"), *_points("kept_fp32"), *_points("family")])
def test_what_a_forward_pass_keeps_is_right(point: dict[str, Any]) -> None:
    plan = _plan(point)
    one = take(plan, "update")
    casts = 0
    if point["precision"] == "mixed" and point["checkpointing"] == "off":
        table = plan.shape.embedding * (1 if plan.model.tied else 2)
        casts = 2 * (parameters(plan.model) - table)  # autocast's copies of the weights of all layers; no head here
    estimated = casts + sum(term.bytes for term in [*kept(plan, one), *head_inputs(plan, one)])
    unread = (4 if in_fp32(plan) else 2) * one.tokens.mid * plan.model.hidden  # the head is not run
    assert estimated - unread == pytest.approx(point["kept"], rel=SAVED)


@pytest.mark.parametrize("point", _points("tower"))
def test_what_a_vision_tower_keeps_is_right(point: dict[str, Any]) -> None:
    shape = {key: point[key] for key in ("hidden", "layers", "intermediate")}
    tower = Vision(**shape, params=0, pixels_per_token=784)
    each = tower_bytes_per_patch(tower) * point["layers"]
    if point["checkpointing"] == "on":
        each = checkpoint_bytes_per_token(hidden=point["hidden"], layers=point["layers"])
    patches = point["patches"]
    gated = point["intermediate"] < 3 * point["hidden"]
    embedded = 2 * 1176 + (12 if gated else 8) * point["hidden"]  # pixels of a patch, and what the merger keeps
    assert patches * (each + embedded) == pytest.approx(point["packed"], rel=SAVED)


@pytest.mark.parametrize("point", _points("tower_layer"))
def test_a_layer_of_another_tower_keeps_what_its_record_says(point: dict[str, Any]) -> None:
    vision = current().models[point["record"]].vision
    assert vision is not None
    small = replace(vision, hidden=point["hidden"], intermediate=point["intermediate"])
    assert tower_bytes_per_patch(small) == pytest.approx(point["packed"], rel=SAVED)


# whose loss each way is: framework, facts
WAYS = {
    "upcast_cross_entropy": [("plain", {"algo": "sft"}), ("trl", {"algo": "sft"}), ("ms-swift", {"algo": "sft"})],
    "grpo_in_fp32": [("trl", {"algo": "grpo", "framework_version": "1.9.0"}), ("ms-swift", {"algo": "grpo"})],
    "divided_in_fp32": [
        ("trl", {"algo": "grpo", "framework_version": "0.29.0"}),
        ("trl", {"algo": "grpo", "framework_version": "1.10.0"}),
        ("ms-swift", {"algo": "grpo", "framework_version": "4.1.0"}),
    ],
    "divided_in_bf16": [
        ("trl", {"algo": "grpo", "zero_stage": 2, "strategy": "deepspeed", "framework_version": "0.29.0"}),
        ("trl", {"algo": "grpo", "zero_stage": 2, "strategy": "deepspeed", "framework_version": "1.10.0"}),
        ("ms-swift", {"algo": "grpo", "zero_stage": 2, "strategy": "deepspeed", "framework_version": "4.1.0"}),
    ],
    "grpo_in_bf16": [
        ("trl", {"algo": "grpo", "zero_stage": 2, "strategy": "deepspeed", "framework_version": "1.9.0"}),
        ("ms-swift", {"algo": "grpo", "zero_stage": 2, "strategy": "deepspeed"}),
        ("ms-swift", {"algo": "dpo", "zero_stage": 3, "strategy": "deepspeed"}),
    ],
}


@pytest.mark.parametrize(("way", "slug", "values"), [(way, *one) for way, runs in WAYS.items() for one in runs])
def test_a_logit_takes_what_the_frameworks_record_says(way: str, slug: str, values: dict[str, Any]) -> None:
    measured = next(point for point in MEASURED["point"] if point.get("way") == way)
    stated = {id: Fact(id, value, "answered") for id, value in {"n_gpus": 2, **values}.items()}
    framework = current().frameworks[slug]
    facts = Facts(stated=stated, values=resolve(stated), framework=framework, model=_model("qwen2"))
    plan, missing = make_plan(facts, None)
    assert plan, missing
    assert plan.number("logits_train_bytes") == pytest.approx(measured["backward"], rel=LOGIT)


@pytest.mark.parametrize("point", [*_points("step"), *_points("step_fp32"), *_points("family_step")])
def test_the_peak_of_a_step_is_right(point: dict[str, Any]) -> None:
    update, step = gpu_phases(_plan(point), ("actor_update", "optimizer_step"))
    measured = max(point["forward_peak"], point["backward_peak"])
    assert trainer_bytes(update) == pytest.approx(measured, rel=STEP)
    assert trainer_bytes(step) == pytest.approx(point["step_peak"], rel=STEP)


def test_megatron_sends_a_token_through_its_own_experts_alone() -> None:
    point = next(p.values[0] for p in _points("family") if p.values[0]["model"] == "llama-4")
    plan = _plan(point)
    own = replace(plan, values={**plan.values, "strategy": "megatron"})
    here, there = (sum(term.bytes for term in kept(one, take(one, "update"))) for one in (plan, own))
    assert here > 3 * there
