"""How large images may be, in the words of trainers that count them in pixels, in tokens, or beside frames of videos."""

import pytest

SWIFT = "swift sft --model Qwen/{} --max_length 4096\n8 x A100 80GB"


@pytest.mark.parametrize(
    ("model", "told", "pixels"),
    [
        ("Qwen3-VL-8B-Instruct", "IMAGE_MAX_TOKEN_NUM=1024", 1024 * 32 * 32),
        ("Qwen2.5-VL-7B-Instruct", "IMAGE_MAX_TOKEN_NUM=1024", 1024 * 28 * 28),
        ("Qwen3-VL-8B-Instruct", "MAX_PIXELS=1003520", 1003520),
        ("Qwen2.5-VL-7B-Instruct", "MAX_PIXELS=1003520 VIDEO_MAX_PIXELS=50176", 1003520),
        ("Qwen2.5-VL-7B-Instruct", "VIDEO_MAX_PIXELS=50176 FPS_MAX_FRAMES=12 MAX_PIXELS=1003520", 1003520),
        ("Qwen2.5-VL-7B-Instruct", "VIDEO_MAX_PIXELS=50176", None),
    ],
)
def test_a_limit_of_images_is_read_and_one_of_frames_is_none(values, model, told, pixels):
    assert values(f"{told} {SWIFT.format(model)}").get("max_pixels") == pixels
