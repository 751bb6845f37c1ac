"""An MLP in parts keeps its input, and one part at a time is made again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diagnose.estimate import estimate
from diagnose.knowledge import current
from diagnose.knowledge.hardware import Moe
from diagnose.pipeline import diagnose
from diagnose.types import Facts, Term
from diagnose.units import GIB
from tests.diagnose.estimate.conftest import QWEN_7B

NARROW = replace(QWEN_7B, vocab=1000)  # whose logits are not the most
LONG = {
    "model": NARROW,
    "algo": "sft",
    "prompt_length": None,
    "response_length": None,
    "strategy": "deepspeed",
    "zero_stage": 3,
    "micro_batch": 1,
    "max_length": 131072,
    "packed_rows": True,
    "gradient_checkpointing": True,
    "logits_chunked": True,
}


def _layer(run: Facts) -> Term | None:
    gpu = estimate(run).gpu
    assert gpu is not None
    update = gpu.phase("actor_update")
    assert update is not None
    return next((term for term in update.terms if term.id == "activations"), None)


def _bytes(run: Facts) -> int:
    term = _layer(run)
    assert term is not None
    return term.bytes


@pytest.mark.parametrize("parts", [{"mlp_parts": 8}, {"mlp_part_tokens": 16384}, {"mlp_parts_by_width": True}])
def test_a_layer_is_recomputed_with_less(facts: Any, parts: dict[str, Any]) -> None:
    assert _bytes(facts(**LONG, **parts)) < 0.7 * _bytes(facts(**LONG))


def test_more_parts_hold_no_more_than_the_attention_does(facts: Any) -> None:
    few, many, most = (_bytes(facts(**LONG, mlp_parts=number)) for number in (2, 64, 1024))
    assert few > many == most


def test_one_part_is_the_whole(facts: Any) -> None:
    assert _bytes(facts(**LONG, mlp_parts=1)) == _bytes(facts(**LONG))


def test_what_nothing_recomputes_keeps_no_mlp(facts: Any) -> None:
    run = {**LONG, "gradient_checkpointing": False}
    assert _bytes(facts(**run, mlp_parts=8)) < 0.7 * _bytes(facts(**run))


SPARSE = replace(NARROW, moe=Moe(experts=8, active=2, width=2368))


@pytest.mark.parametrize("other", [{"strategy": "megatron"}, {"model": SPARSE}])
def test_megatron_and_sparse_models_have_none(facts: Any, other: dict[str, Any]) -> None:
    run = {**LONG, **other}
    assert _layer(facts(**run, mlp_parts=8)) == _layer(facts(**run))


def test_it_tells_what_a_card_showed_at_1_2_million_tokens() -> None:
    """136.15 GB: snowflakedb/ArcticTraining b28638e projects/sequence-parallelism/run-h200-sp1-llama-8b-liger-offload-tiled-mlp.yml."""
    text = """arctic_training run.yml --num_gpus 1
activation_checkpoint_cpu_offload: true
tiled_mlp_compute: true
deepspeed:
  zero_optimization:
    stage: 3
    offload_optimizer:
      device: cpu
    offload_param:
      device: cpu
optimizer:
  type: cpu_adam
model:
  type: "liger"
  name_or_path: meta-llama/Llama-3.1-8B-Instruct
  attn_implementation: flash_attention_3
data:
  max_length: 1_200_000
  pack_samples: true
"""
    found = diagnose(text, {"gpu_model": "H200"}, current(), ())
    update = found.estimate.gpu and found.estimate.gpu.phase("actor_update")
    assert update
    assert update.bytes == pytest.approx(136.15 * GIB, rel=0.05)


TILED = "actor_rollout_ref.model.tiled_mlp"
VERL = f"python3 -m verl.trainer.main_ppo {TILED}.enabled=%s {TILED}.num_shards=8\nverl==0.7.1\n"


@pytest.mark.parametrize(("enabled", "parts"), [("True", 8), ("False", 1)])
def test_a_switch_that_is_off_parts_nothing(enabled: str, parts: int) -> None:
    assert diagnose(VERL % enabled, {}, current(), ()).facts.values["mlp_parts"] == parts
