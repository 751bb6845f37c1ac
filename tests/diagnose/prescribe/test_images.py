"""What is advised of images: their size where the tower runs out, also without a key, and no limit that cuts them."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

EASYR1 = (
    "python3 -m verl.trainer.main config=examples/config.yaml worker.actor.model.model_path=Qwen/{model} "
    "data.max_prompt_length={limit} data.max_response_length=2048 {pixels} worker.rollout.n=5 trainer.n_gpus_per_node=8\n"
    "8 x A100 80GB torch.OutOfMemoryError: CUDA out of memory in the actor update"
)
IN_TOWER = """
Traceback (most recent call last):
  File "/env/site-packages/transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py", line 1711, in forward
    image_embeds = self.visual(pixel_values, grid_thw=image_grid_thw)
  File "/env/site-packages/transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py", line 531, in forward
    hidden_states = blk(hidden_states, cu_seqlens=cu_seqlens_now)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.61 GiB. GPU 3 has a total capacity of 79.15 GiB of which 1.10 GiB is free.
"""
SWIFT = "swift rlhf --rlhf_type grpo --model Qwen/{} --train_type full --deepspeed zero3\n8 x A100 80GB"
VERL = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/{}"


def lowered(advice, slug):
    return next(
        (change.after for one in advice.prescriptions if one.lever.slug == slug for change in one.changes), None
    )


@pytest.mark.parametrize(
    ("model", "limit", "pixels", "to"),
    [
        ("Qwen2.5-VL-7B-Instruct", 8192, "data.max_pixels=4194304", "5632"),  # an image of 5,350 tokens
        ("Qwen2.5-VL-7B-Instruct", 4096, "data.max_pixels=4194304", None),
        ("Qwen2.5-VL-7B-Instruct", 2048, "", None),  # nobody tells how large they are
        ("Qwen2.5-7B-Instruct", 8192, "", "4096"),
        ("Qwen3.5-9B", 2048, "", "1024"),  # most train it on text
    ],
)
def test_a_limit_of_prompts_is_lowered_to_their_images_at_most(advise, model, limit, pixels, to):
    """huggingface/trl v0.22.1 docs/source/grpo_trainer.md: training may fail if image tokens are truncated"""
    advice = advise(EASYR1.format(model=model, limit=limit, pixels=pixels))
    assert lowered(advice, "length.prompt.down") == to


@pytest.mark.parametrize("command", [SWIFT, VERL])
def test_a_failure_within_the_tower_is_one_of_images(advise, command):
    advice = advise(command.format("Qwen2.5-VL-7B-Instruct") + IN_TOWER)
    assert advice.prescriptions[0].lever.slug == "image.pixels.down"
    assert "vision tower" in advice.prescriptions[0].why


def test_a_run_elsewhere_is_not_ranked_by_its_tower(advise):
    advice = advise(
        SWIFT.format("Qwen2.5-VL-7B-Instruct")
        + IN_TOWER.replace("self.visual(", "self.language_model(").replace("_now", "")
    )
    assert not any("the vision tower, which" in one.why for one in advice.prescriptions)


@pytest.mark.parametrize(("model", "advised"), [("google/gemma-3-4b-it", False), ("Qwen/Qwen2.5-VL-3B-Instruct", True)])
def test_images_that_are_all_scaled_to_one_size_are_not_scaled_down(advise, model, advised):
    """arXiv:2503.19786: every image goes in with 896 × 896 pixels"""
    command = (
        SWIFT.replace("Qwen/{}", model)
        + "\ntorch.OutOfMemoryError: CUDA out of memory in the actor update, images and text"
    )
    assert any(one.lever.slug == "image.pixels.down" for one in advise(command).prescriptions) is advised


@pytest.mark.parametrize(
    ("command", "advised"),
    [
        (VERL.format("Qwen3.5-9B"), False),
        (VERL.format("Qwen3.5-9B") + "\neach sample has 3 images of 1024x1024", True),
        (VERL.format("Qwen2.5-VL-7B-Instruct"), True),
    ],
)
def test_a_model_that_most_train_on_text_is_not_told_of_images_unasked(advise, command, advised):
    advice = advise(command + "\n8 x A100 80GB torch.OutOfMemoryError: CUDA out of memory in the actor update")
    assert any(one.lever.slug == "image.pixels.down" for one in advice.prescriptions) is advised


def test_images_of_a_told_size_count_where_nothing_limits_the_answer() -> None:
    said = "GRPO, LoRA, Qwen2.5-VL-7B-Instruct, 2 x A100 80GB, per_device_train_batch_size 4\nCUDA out of memory.\n"
    small, large = (diagnose(said + words, {}, current(), ()) for words in ("", "images are 4000x3000"))
    peaks = [one.estimate.gpu.phase("actor_update").need for one in (small, large)]
    assert peaks[1] > 2 * peaks[0]
    assert "image.pixels.down" in [given.lever.slug for given in large.prescriptions[:5]]
