"""What is advised to somebody who asks whether a run would fit: what changes its figures, and other machines."""

from __future__ import annotations

import pytest

from diagnose.conditions import holds
from diagnose.knowledge import Knowledge
from diagnose.pipeline import diagnose
from diagnose.prescribe.order import HARDWARE

PLAN = "想在 4 张 4090 上用 verl 全参跑 Qwen2.5-7B GRPO，max_response_length=4096，够不够？"


@pytest.mark.parametrize("answers", [{}, {"micro_batch": 4}])
def test_nothing_is_advised_that_changes_no_figure(knowledge: Knowledge, answers: dict[str, int]) -> None:
    found = diagnose(PLAN, answers, knowledge, ())
    assert found.facts.planned
    assert found.prescriptions
    idle = [given for given in found.prescriptions if given.after is None]
    assert all(given.lever.order >= HARDWARE for given in idle)


def test_adapters_are_advised_by_their_rank_where_no_other_key_turns_them_on(knowledge: Knowledge) -> None:
    plan = f"{PLAN} actor_rollout_ref.rollout.layered_summon=True"
    found = diagnose(plan, {"micro_batch": 1}, knowledge, ())
    lora = next(given for given in found.prescriptions if given.lever.slug == "peft.lora")
    assert [change.key for change in lora.changes] == ["actor_rollout_ref.model.lora_rank"]
    assert lora.before is not None
    assert lora.after is not None
    assert lora.after.bytes < 0.7 * lora.before.bytes
    written = diagnose(
        f"{plan.replace('全参', '')} actor_rollout_ref.model.lora_rank=32", {"micro_batch": 1}, knowledge, ()
    )
    assert written.estimate.gpu is not None
    assert written.estimate.gpu.peak.bytes == lora.after.bytes


def _advised_under_easyr1(knowledge: Knowledge, model: str) -> set[str]:
    found = diagnose(f"EasyR1 GRPO, {model}, 8 x A100 40GB, CUDA out of memory in update_actor", {}, knowledge, ())
    return {given.lever.slug for given in found.prescriptions}


def test_the_vision_tower_is_frozen_only_where_there_is_one(knowledge: Knowledge) -> None:
    assert "freeze.vision_tower" in _advised_under_easyr1(knowledge, "Qwen2.5-VL-7B")
    assert "freeze.vision_tower" not in _advised_under_easyr1(knowledge, "Qwen2.5-7B")


@pytest.mark.parametrize(
    "lever", ["freeze.vision_tower", "image.pixels.down", "rollout.limit_mm_per_prompt", "rollout.mm_cache.down"]
)
def test_what_acts_on_images_is_ruled_out_for_a_model_of_text_alone(knowledge: Knowledge, lever: str) -> None:
    when = {"multimodal": knowledge.levers[lever].when["multimodal"]}
    assert holds(when, {"multimodal": False}) is False
    assert holds(when, {"multimodal": True}) is True
    assert holds(when, {}) is not False
