"""Experts that take every token at once in a pass that does not train: whose, under which trainer and version."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.estimate import plan_of
from diagnose.estimate.terms_experts import at_once_bytes, experts_at_once
from diagnose.estimate.tokens import take
from diagnose.knowledge import current
from tests.runs import run_of

EASYR1 = (
    "python3 -m verl.trainer.main config=examples/config.yaml worker.actor.dynamic_batching=True"
    " worker.actor.model.model_path={model}\nEasyR1 v0.3.2"
)
VERL = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path={model}"
    " actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=8192"
)
SEES, TALKS, LOOPS = "Qwen/Qwen3-VL-30B-A3B-Instruct", "openai/gpt-oss-20b", "Qwen/Qwen3-30B-A3B"


def _bytes(paste: str, model: str, **answers: Any) -> int:
    told = {"n_gpus": 8, "gpu_mem_gib": 80, "logprob_tokens": 8192, **answers}
    knowledge = current()
    plan = plan_of(run_of(paste.format(model=model), told, knowledge).facts, knowledge.fallback)
    assert plan is not None
    return sum(term.bytes for term in experts_at_once(plan, take(plan, "logprob")))


def test_each_token_goes_through_all_experts_with_its_inputs_repeated() -> None:
    assert _bytes(EASYR1, SEES) == 8192 * 128 * (6 * 2048 + 4 * 768)
    assert at_once_bytes(tokens=1, experts=32, hidden=2880, width=2880, clamped=True) == 32 * 16 * 2880


@pytest.mark.parametrize(
    ("paste", "model", "answers", "counted"),
    [
        (EASYR1, SEES, {}, True),
        (EASYR1, LOOPS, {}, False),
        (VERL, SEES, {"framework_version": "0.6.1"}, True),
        (VERL, TALKS, {"framework_version": "0.6.1"}, True),
        (VERL, SEES, {"framework_version": "0.9.1"}, False),
        (VERL + "\ntransformers==5.1.0", SEES, {"framework_version": "0.7.0"}, False),
        (VERL + " actor_rollout_ref.actor.strategy=megatron", SEES, {"framework_version": "0.6.1"}, False),
    ],
)
def test_only_where_transformers_own_layer_runs_in_eval_mode(
    paste: str, model: str, answers: dict[str, Any], counted: bool
) -> None:
    assert bool(_bytes(paste, model, **answers)) is counted
