"""What an engine runs through a vision tower as it starts: it tries the largest image or video that a prompt may hold.

(vLLM v0.8.5 and v0.11.0 v1/worker/gpu_model_runner.py: profile_run; v0.11.0 v1/worker/utils.py: MultiModalBudget: as many of them as
the tokens of one step hold, one at least; model_executor/models/qwen2_vl.py: get_image_size_with_most_features, get_max_video_tokens: a
video has as many of these images as the engine's length holds.) The trainer's own limit of pixels is not asked: the model's processor
makes the image. SGLang tries none: v0.5.3 srt/model_executor/model_runner.py.
"""

from __future__ import annotations

from diagnose.batch import whole
from diagnose.estimate.layer import Widths, no_grad_bytes_per_token
from diagnose.estimate.plan import Plan
from diagnose.estimate.rows import row_limit
from diagnose.estimate.tiled import most_tiled
from diagnose.knowledge.hardware import Vision

STEP_TOKENS = 8192  # vLLM's own default, engine/arg_utils.py
_PIXEL_BYTES = 3 * (4 + 2)  # three colours in fp32 and once more in the tower's type, as many times as it joins frames
_MERGED = 4  # patches of a token


def tried_tokens(plan: Plan) -> int:
    """Tokens of the images or the video that go through the tower at once at the engine's start; 0 where none are tried or known."""
    tower, values = plan.model.vision, plan.values
    if tower is None or values.get("rollout_engine") != "vllm" or values.get("tries_images") is False:
        return 0
    image = _image_pixels(plan, tower) // tower.pixels_per_token
    if not image:
        return 0
    item = image * _images_of_video(plan, tower, image)
    step = whole(values, "max_num_batched_tokens") or STEP_TOKENS
    return max(1, step // item) * item


def tower_bytes(plan: Plan, tokens: int) -> float:
    """What one layer of the tower holds of so many tokens' patches, nothing kept, with their pixels."""
    tower = plan.model.vision
    if tower is None or not tokens:
        return 0.0
    mlp = (tower.intermediate or 4 * tower.hidden) // plan.whole("rollout_tp")
    layer = no_grad_bytes_per_token(Widths(tower.hidden, mlp, tower.hidden, 0, False))
    return _MERGED * tokens * (layer + _PIXEL_BYTES * tower.joined_frames * tower.patch**2)


def _image_pixels(plan: Plan, tower: Vision) -> int:
    """Pixels of the largest image that the engine lets through."""
    if tower.tile:
        return most_tiled(tower, {})
    most = tower.frame_pixels if tower.one_size else tower.most_pixels
    return min(most, whole(plan.values, "engine_image_pixels") or most)


def _images_of_video(plan: Plan, tower: Vision, image: int) -> int:
    """How many such images the longest video has that is tried; 1 where the engine takes none, or an image is as long."""
    most = 1 if plan.values.get("engine_videos") == 0 else tower.video_images
    return max(1, min(most, engine_length(plan) // image))


def engine_length(plan: Plan) -> int:
    """Tokens of the longest sequence that the engine is started for: as it is set, else as many as the model knows where the engine runs
    alone or its trainer asks for no less, else the row's (vLLM v0.11.0 config/model.py: _get_and_verify_max_len)."""
    told, (prompt, response) = whole(plan.values, "max_model_len"), row_limit(plan)
    if told or not (plan.serves or plan.does.get("engine_length") == "model"):
        return told or (prompt or 0) + (response or 0)
    of_model = plan.model.context_of(str(plan.values.get("model", plan.model.title)))
    return of_model or (prompt or 0) + (response or 0)
