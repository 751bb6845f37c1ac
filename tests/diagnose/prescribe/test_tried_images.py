"""An engine that runs out as it tries its vision tower at start: no image of the data is in that pass."""

from __future__ import annotations

import pytest

PROFILE = """
  File "/env/vllm/v1/worker/gpu_worker.py", line 185, in determine_available_memory
    self.model_runner.profile_run()
  File "/env/vllm/v1/worker/gpu_model_runner.py", line 1640, in profile_run
    dummy_encoder_outputs = self.model.get_multimodal_embeddings(
  File "/env/vllm/model_executor/models/qwen2_5_vl.py", line 260, in forward
    x_gate, _ = self.gate_proj(x)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 428.00 MiB. GPU 0 has a total capacity of 39.39 GiB
"""
EASYR1 = (
    "python3 -m verl.trainer.main config=examples/config.yaml worker.actor.model.model_path=Qwen/Qwen2.5-VL-7B-Instruct "
    "data.max_pixels=1003520 data.max_response_length=2048 worker.rollout.tensor_parallel_size=1 "
    "worker.rollout.gpu_memory_utilization=0.6 trainer.n_gpus_per_node=4\n4 x A100 40GB"
)
SERVE = "vllm serve Qwen/Qwen2.5-VL-7B-Instruct --max-model-len {}\n1 x A100 40GB, vllm 0.11.0"


def test_the_engines_own_image_is_made_smaller_and_not_those_of_the_data(advise):
    levers = advise(EASYR1 + PROFILE).levers
    assert levers[0] == "rollout.image_profile.down"
    assert not {"image.pixels.down", "rollout.max_num_batched_tokens.down", "length.response.down"} & set(levers)


@pytest.mark.parametrize(("length", "of_videos"), [("8192", False), ("65536", True)])
def test_videos_are_forbidden_where_the_length_lets_one_be_tried(advise, length, of_videos):
    levers = advise(SERVE.format(length) + PROFILE).levers
    assert ("rollout.limit_mm_per_prompt" in levers[:2]) is of_videos


def test_a_step_of_several_images_may_be_made_smaller(advise):
    command = SERVE.format("8192").replace("\n", " --max-num-batched-tokens 65536\n")
    assert "rollout.max_num_batched_tokens.down" in advise(command + PROFILE).levers


@pytest.mark.parametrize(
    ("model", "lever"),
    [("OpenGVLab/InternVL3-8B", "image.tiles.down"), ("Qwen/Qwen2.5-VL-7B-Instruct", "image.pixels.down")],
)
def test_a_model_that_cuts_its_images_is_told_of_tiles(advise, model, lever):
    command = f"MAX_NUM=12 swift rlhf --rlhf_type grpo --model {model} --per_device_train_batch_size 4 --max_length 4096\n8 x A100 80GB"
    tower = """
  File "/env/modeling.py", line 9, in forward
    image_embeds = self.visual(pixel_values)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.61 GiB.
"""
    levers = advise(command + tower).levers
    assert {"image.tiles.down", "image.pixels.down"} & set(levers) == {lever}


def test_the_image_and_the_videos_are_set_by_the_persons_own_keys(advise):
    verl = (
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-VL-7B-Instruct "
        "data.max_prompt_length=4096 data.max_response_length=2048 trainer.n_gpus_per_node=8\nvllm 0.11, verl 0.7, 8 x A100 80GB"
    )
    advice = advise(verl + PROFILE)
    engine = "actor_rollout_ref.rollout.engine_kwargs.vllm"
    assert [(one.key, one.after) for one in advice.advised("rollout.image_profile.down").changes] == [
        (f"{engine}.mm_processor_kwargs.max_pixels", "1003520")
    ]
    assert [(one.key, one.after) for one in advice.advised("rollout.limit_mm_per_prompt").changes] == [
        (f"{engine}.limit_mm_per_prompt.video", "0")
    ]
