"""What is advised to somebody who asks whether a run would fit: what changes its figures, and other machines."""

from __future__ import annotations

import pytest

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
    found = diagnose(PLAN, {"micro_batch": 1}, knowledge, ())
    lora = next(given for given in found.prescriptions if given.lever.slug == "peft.lora")
    assert [change.key for change in lora.changes] == ["actor_rollout_ref.model.lora_rank"]
    assert lora.before is not None
    assert lora.after is not None
    assert lora.after.bytes < 0.7 * lora.before.bytes
    written = diagnose(
        f"{PLAN.replace('全参', '')} actor_rollout_ref.model.lora_rank=32", {"micro_batch": 1}, knowledge, ()
    )
    assert written.estimate.gpu is not None
    assert written.estimate.gpu.peak.bytes == lora.after.bytes


@pytest.mark.parametrize(
    "lever", ["freeze.vision_tower", "image.pixels.down", "rollout.limit_mm_per_prompt", "rollout.mm_cache.down"]
)
def test_what_acts_on_images_is_not_advised_to_a_model_of_text(knowledge: Knowledge, lever: str) -> None:
    text = "EasyR1 GRPO, {model}, 8 x A100 80GB, CUDA out of memory in update_actor"
    for_text = diagnose(text.format(model="Qwen2.5-7B"), {}, knowledge, ())
    assert for_text.facts.values["multimodal"] is False
    assert lever not in {given.lever.slug for given in for_text.prescriptions}
