"""The whole model gathered on every card, so that a trainer without an engine can generate."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.units import GIB

FILE = """llamafactory-cli train run.yaml
model_name_or_path: Qwen/Qwen2-72B-Instruct
stage: {stage}
finetuning_type: lora
deepspeed: examples/deepspeed/ds_{zero}_config.json
cutoff_len: 1024
max_new_tokens: 512
per_device_train_batch_size: 1
"""


def gathered(stage: str, zero: str) -> float:
    run = diagnose(FILE.format(stage=stage, zero=zero), {"gpu_mem_gib": 80, "n_gpus": 8}, current(), ())
    assert run.estimate is not None
    assert run.estimate.gpu is not None
    terms = [term for phase in run.estimate.gpu.phases for term in phase.terms if term.id == "gathered_weights"]
    return max((term.bytes for term in terms), default=0) / GIB


@pytest.mark.parametrize(("stage", "zero"), [("sft", "z3"), ("ppo", "z2")])
def test_without_generation_or_shards_nothing_is_gathered(stage: str, zero: str) -> None:
    assert gathered(stage, zero) == 0


def test_llamafactory_gathers_the_model_to_sample_for_ppo_at_stage_3() -> None:
    """LLaMA-Factory v0.9.0 src/llamafactory/train/ppo/trainer.py: get_inputs. 72.7 billion parameters of two bytes."""
    assert gathered("ppo", "z3") == pytest.approx(72.7e9 * 2 / GIB, rel=0.01)
