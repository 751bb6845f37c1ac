"""Questions about a run of which the text only names a file that a project ships."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.vocabulary import FACTS

OOM = "\ntorch.OutOfMemoryError: CUDA out of memory."
NAMED = (
    "bash examples/grpo_trainer/run_qwen3-8b.sh",
    "llamafactory-cli train examples/train_full/llama3_full_sft.yaml",
    "python3 examples/math/gsm8k_rl.py --config examples/math/gsm8k_grpo.yaml",
    "ROLL: bash examples/qwen2.5-7B-rlvr_megatron/run_rlvr_pipeline.sh",
)


@pytest.mark.parametrize("command", NAMED)
def test_nothing_is_asked_that_the_file_settles_but_for_the_cards(command):
    answer = diagnose(command + OOM, {}, current(), ())
    asked = [answer.facts.stated.get(one.question.fact) for one in answer.questions]
    settings = [fact for fact in asked if fact is not None and FACTS[fact.id].group != "machine"]
    assert answer.facts.shipped
    assert not [fact.id for fact in settings if fact.origin == "default"]


def test_what_a_trainers_default_leaves_open_is_asked():
    answer = diagnose("AReaL GRPO of Qwen2.5-7B on 8 x A100, actor update" + OOM, {}, current(), ())
    assert "full_or_lora" in [one.question.fact for one in answer.questions]


def test_what_a_launcher_says_and_not_the_file_is_asked():
    recipe = "open-r1 recipes/Qwen2.5-Math-7B/grpo/config_simple_rl.yaml on 8 x A100-80GB, backward"
    assert "zero_stage" in [one.question.fact for one in diagnose(recipe + OOM, {}, current(), ()).questions]


def test_what_a_file_turns_on_hangs_on_no_version():
    recipe = (
        "open-r1 src/open_r1/sft.py --config recipes/OpenR1-Distill-7B/sft/config_distill.yaml, 4 x A100-80GB, backward"
    )
    told = {one.lever.slug: one.why for one in diagnose(recipe + OOM, {}, current(), ()).not_advised}
    assert (
        told["checkpointing.activation.on"]
        == "Already on: recipes/OpenR1-Distill-7B/sft/config_distill.yaml as it is shipped."
    )
