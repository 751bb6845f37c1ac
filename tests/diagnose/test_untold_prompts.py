"""Prompts of which nothing tells how long they are, nor whether they hold images for a model that reads them."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

RUN = {
    "framework": "trl",
    "algo": "grpo",
    "phase": "actor_update",
    "gpu_mem_gib": 80,
    "n_gpus": 4,
    "response_length": 512,
    "full_or_lora": "full",
    "zero_stage": 3,
    "micro_batch": 1,
    "model": "Qwen2.5-VL-7B-Instruct",
}
SHORT = """  File "trl/trainer/grpo_trainer.py", line 1021, in _compute_loss
4 x A100 80G, Qwen2.5-VL-7B-Instruct, deepspeed zero3, GRPO, max_completion_length=512, per_device_train_batch_size=1
"""
OOM = "torch.OutOfMemoryError: CUDA out of memory."


def diagnosed(**more):
    return diagnose(OOM, {**RUN, **more}, current(), ())


def update(**more):
    gpu = diagnosed(**more).estimate.gpu
    assert gpu is not None
    return gpu.phase("actor_update")


def asked(**more):
    return [one.question.fact for one in diagnosed(**more).questions]


def test_the_band_goes_on_to_what_images_would_take():
    untold, none = update(micro_batch=8), update(micro_batch=8, max_pixels=0)
    assert untold.bytes == none.bytes
    assert untold.high > none.high


def test_what_is_taken_for_a_prompt_says_whether_its_images_are_counted():
    def why(**more):
        return diagnosed(**more).facts.stated["real_prompt_length"].why

    assert why().endswith("without images, of which nothing tells")
    assert why(max_pixels=602112).endswith("with its images at the limit of their pixels")
    assert "images" not in why(model="Qwen2.5-7B-Instruct")


def test_they_come_before_the_versions_where_they_would_explain_much_of_a_failure():
    full = f"{OOM} Tried to allocate 4.02 GiB. GPU 2 has a total capacity of 79.15 GiB of which 2.11 GiB is free.\n"
    ids = [one.question.fact for one in diagnose(full + SHORT, {}, current(), ()).questions]
    assert ids.index("max_pixels") < ids.index("worked_before")


def test_how_large_they_are_is_asked_and_the_answer_is_advised_on():
    assert "max_pixels" in asked()
    unlimited = diagnosed(max_pixels=12845056)
    assert "max_pixels" not in [one.question.fact for one in unlimited.questions]
    advised = next(one for one in unlimited.prescriptions if one.lever.slug == "image.pixels.down")
    assert advised.before is not None
    assert advised.after is not None
    assert advised.after.bytes < advised.before.bytes


@pytest.mark.parametrize(
    "more",
    [
        {"model": "Qwen2.5-7B-Instruct"},
        {"model": "some-model-nobody-knows", "params_b": 7},
        {"text_data": True},
        {"phase": "weight_sync"},
        {"max_pixels": 0},
    ],
)
def test_it_is_not_asked_where_no_image_can_be_what_fails(more):
    assert "max_pixels" not in asked(**more)


def test_how_long_prompts_really_are_is_asked_where_a_high_limit_leaves_it_open():
    run = {
        **RUN,
        "framework": "verl",
        "model": "Qwen2.5-7B-Instruct",
        "prompt_length": 16384,
        "micro_batch": 8,
        "remove_padding": True,
    }
    told = diagnose(OOM, run, current(), ())
    assert "real_prompt_length" in [one.question.fact for one in told.questions]
    short = diagnose(OOM, {**run, "real_prompt_length": 300}, current(), ()).estimate.gpu
    assert told.estimate.gpu is not None
    assert short is not None
    assert short.phase("actor_update").bytes < told.estimate.gpu.phase("actor_update").bytes
    learned = diagnose(OOM, {**run, "algo": "sft", "max_length": 16384}, current(), ())
    assert "real_prompt_length" not in [one.question.fact for one in learned.questions]
