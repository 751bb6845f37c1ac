"""How large images are, how many a prompt has, and that there are none, in the words of a chat."""

import pytest


@pytest.mark.parametrize(
    ("told", "pixels", "images"),
    [
        ("能不能在 8 张 4090 上训 Qwen2.5-VL-7B GRPO, 图 1080p, 每个 prompt 一张图, response 2048", 1920 * 1080, 1),
        ("ms-swift 对 Qwen3-VL-32B 做 GRPO, 每条样本 8~16 张截图, 每张 1280x720, 输出最长 4k", 1280 * 720, 16),
        ("Qwen2.5-VL-7B GRPO, images resized to 512x512 as in the notebook", 512 * 512, None),
        ("Qwen2.5-VL-7B SFT on doc images (A4 scans 300dpi, ~2480x3508)", 2480 * 3508, None),
        ("Kimi-VL-A3B sft, 图片 4K 截图", 3840 * 2160, None),
        ("Qwen2.5-VL-7B GRPO, each sample has 3 images of 720p", 1280 * 720, 3),
        ("qwen2.5-vl-7b grpo, 2 images per prompt", None, 2),
        # a trainer that scales them further by default
        ("EasyR1 Qwen2.5-VL-7B 每条 4 张图, 手机拍的照片 4000x3000", 4194304, 4),
        # no sizes of images
        ("qwen2.5-vl-7b grpo, loss 图正常, 上下文 4K", None, None),
        ("qwen2.5-vl-7b in our docker image, a matrix of 4096x4096", None, None),
        ("qwen2.5-vl-7b grpo, 4096x4096 image tokens", None, None),
        ("qwen2.5-vl-7b, 图像 token 长度 4k", None, None),
    ],
)
def test_sizes_and_numbers_of_images_are_read_from_sentences(values, told, pixels, images):
    found = values(f"{told}\n8 x A100 80GB CUDA out of memory")
    assert (found.get("max_pixels"), found.get("images_per_prompt")) == (pixels, images)


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ("Qwen3.5-9B text GRPO with verl. I only train text math", True),
        ("Qwen3.5-9B 只训纯文本 GRPO", True),
        ("Gemma-3-27b text-only SFT", True),
        ("Qwen2.5-VL-7B: text-only works but images run out", None),
        ("Qwen2.5-VL-7B, 纯文本没问题, 加图就爆", None),
        ("the text only model runs, Qwen2.5-VL-7B does not", None),
    ],
)
def test_a_model_of_images_that_is_trained_on_text_is_told_so(values, told, text):
    assert values(f"{told}\n8 x A100 80GB CUDA out of memory").get("text_data") is text
