"""Videos in rows: frames joined in time, their size, and what bounds them together, by qwen_vl_utils 0.0.8 to 0.0.14."""

from __future__ import annotations

import pytest

from diagnose.estimate import plan_of
from diagnose.estimate.rows import real_row
from diagnose.estimate.shown import image_pixels
from diagnose.estimate.video import video_pixels
from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.knowledge.hardware import Vision

QWEN = Vision(
    hidden=1280,
    layers=32,
    params=1,
    pixels_per_token=784,
    joined_frames=2,
    frame_pixels=768 * 784,
    video_pixels=90316800,
)
TILES = Vision(hidden=1024, layers=24, params=1, pixels_per_token=784, frame_pixels=448 * 448)
BARE = Vision(hidden=1024, layers=24, params=1, pixels_per_token=784)


@pytest.mark.parametrize(
    ("tower", "values"),
    [(QWEN, {}), (QWEN, {"frame_pixels": 50176}), (BARE, {"video_frames": 16}), (QWEN, {"video_pixels": 1000000})],
)
def test_without_a_number_of_frames_and_their_size_nothing_is_counted(tower: Vision, values: dict[str, int]) -> None:
    assert video_pixels(tower, values) == 0


@pytest.mark.parametrize(
    ("tower", "values", "tokens"),
    [
        (QWEN, {"video_frames": 16, "frame_pixels": 128 * 784}, 8 * 128),
        (QWEN, {"video_frames": 15, "frame_pixels": 128 * 784}, 8 * 128),  # two frames at a time
        (QWEN, {"video_frames": 16}, 8 * 768),
        (QWEN, {"video_frames": 768}, 115200),  # 0.9 of a context of 128,000
        (QWEN, {"video_frames": 64, "video_pixels": 4096 * 784}, 4096),
        (QWEN, {"video_frames": 64, "frame_pixels": 10000 * 784}, 10000),  # more than a frame may have: of the whole
        (TILES, {"video_frames": 8}, 8 * 256),
        (BARE, {"video_frames": 8, "frame_pixels": 196 * 784}, 8 * 196),
    ],
)
def test_a_video_is_as_many_tokens_as_its_frames_let(tower: Vision, values: dict[str, int], tokens: int) -> None:
    assert video_pixels(tower, values) == pytest.approx(tokens * 784, rel=0.001)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("FPS_MAX_FRAMES=16 VIDEO_MAX_PIXELS=100352 swift sft --model Qwen/Qwen2.5-VL-7B-Instruct", 8 * 128),
        ("FPS_MAX_FRAMES=16 VIDEO_MAX_TOKEN_NUM=128 swift sft --model Qwen/Qwen3-VL-8B-Instruct", 8 * 128),
        ("FPS_MAX_FRAMES=12 VIDEO_MAX_PIXELS=50176 MAX_PIXELS=1003520 swift sft --model Qwen/Qwen2.5-VL-7B-Instruct", 1280),
        ("llamafactory-cli train --video_maxlen 32 --video_max_pixels 65536 --model_name_or_path Qwen/Qwen2-VL-7B", 16 * 65536 / 784),
        ("torchrun train.py --model_name_or_path OpenGVLab/InternVL3-8B --max_num_frame 16 --per_device_train_batch_size 1", 16 * 256),
        ("swift sft --model Qwen/Qwen2.5-VL-7B-Instruct", 0),
    ],
)  # fmt: skip
def test_the_keys_of_trainers_for_videos_are_read(text: str, tokens: float) -> None:
    knowledge = current()
    plan = plan_of(read_facts(read(text + " --max_length 4096\n8 x A100 80GB"), {}, knowledge), knowledge.fallback)
    assert plan is not None
    assert plan.model.vision is not None
    assert image_pixels(plan) / plan.model.vision.pixels_per_token == pytest.approx(tokens, rel=0.001)


@pytest.mark.parametrize(("frames", "prompt"), [("16", 8 * 128 + 569), ("768", 16384)])
def test_a_prompt_is_its_video_and_some_text_where_the_limit_leaves_more(frames: str, prompt: int) -> None:
    text = f"FPS_MAX_FRAMES={frames} VIDEO_MAX_PIXELS=100352 torchrun R1-V/src/grpo.py --model_name_or_path Qwen/Qwen2.5-VL-7B-Instruct"
    text += " --max_prompt_length 16384 --max_completion_length 768 --per_device_train_batch_size 1\n8 x A100 80GB"
    knowledge = current()
    plan = plan_of(read_facts(read(text), {}, knowledge), knowledge.fallback)
    assert plan is not None
    prompts = real_row(plan, 1)[0]
    assert (prompts.mid, prompts.high) == (prompt, 16384)
