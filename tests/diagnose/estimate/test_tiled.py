"""Images that a model cuts into tiles, by ms-swift 3602360a5 swift/template/vision_utils.py: _dynamic_preprocess."""

from __future__ import annotations

import pytest

from diagnose.estimate import plan_of
from diagnose.estimate.host import host_pool
from diagnose.estimate.rows import real_row
from diagnose.estimate.shown import image_pixels, images_beside
from diagnose.estimate.tiled import most_tiled, usually_tiled
from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.knowledge.hardware import Vision

INTERNVL = Vision(hidden=1024, layers=24, params=1, pixels_per_token=784, tile=448, tiles=12)
QWEN = Vision(hidden=1280, layers=32, params=1, pixels_per_token=784)


def plan(text: str):
    knowledge = current()
    found = plan_of(read_facts(read(text + "\n8 x A100 80GB"), {}, knowledge), knowledge.fallback)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("tower", "values", "tokens"),
    [
        (INTERNVL, {}, 3328),  # 12 tiles of 256 tokens, and the whole image once more
        (INTERNVL, {"image_tiles": 6}, 1792),
        (INTERNVL, {"image_tiles": 1}, 256),  # the tile is the whole image
        (QWEN, {"image_tiles": 6}, 0),
    ],
)
def test_an_image_is_as_many_tokens_as_its_tiles_and_itself(tower: Vision, values: dict[str, int], tokens: int) -> None:
    assert most_tiled(tower, values) / 784 == tokens


def test_usual_images_are_about_half_of_the_tiles() -> None:
    assert [size / 784 for size in usually_tiled(INTERNVL, {})] == [512, 1664, 3328]


@pytest.mark.parametrize(
    ("command", "tokens"),
    [
        ("MAX_NUM=6 swift sft --model OpenGVLab/InternVL3-8B", 1792),
        ("MAX_PIXELS=100352 swift sft --model OpenGVLab/InternVL3-8B", 3328),  # how many pixels there are decides nothing
        ("torchrun src/open_r1/grpo_jsonl.py --model_name_or_path OpenGVLab/InternVL3-2B --max_anyres_num 6", 1792),
        ("torchrun internvl_chat_finetune.py --model_name_or_path OpenGVLab/InternVL3-8B --max_dynamic_patch 3", 1024),
        ("swift sft --model OpenGVLab/InternVL3-8B", 0),  # nothing tells of images
    ],
)  # fmt: skip
def test_the_keys_of_trainers_for_tiles_are_read(command: str, tokens: int) -> None:
    assert image_pixels(plan(command + " --max_length 4096")) / 784 == tokens


def test_a_data_set_of_small_images_is_scaled_up_to_tiles() -> None:
    command = "swift sft --model OpenGVLab/{} --train_type lora --dataset AI-ModelScope/LaTeX_OCR --max_length 4096"
    assert images_beside(plan(command.format("InternVL3-8B"))).high == pytest.approx(3328)
    assert images_beside(plan("MAX_NUM=1 " + command.format("InternVL3-8B"))).high == pytest.approx(256)


def test_prompts_without_a_limit_hold_the_tiles_of_their_image() -> None:
    command = "torchrun src/open_r1/grpo_jsonl.py --model_name_or_path OpenGVLab/InternVL3-2B"
    command += " --max_completion_length 512 --max_anyres_num {}"
    assert real_row(plan(command.format(12)), 8)[0].mid > real_row(plan(command.format(2)), 8)[0].mid + 2000


def test_an_image_that_is_scaled_to_one_size_has_that_whatever_limits_it() -> None:
    """arXiv:2503.19786: 896 × 896 pixels become 256 tokens"""
    command = "llamafactory-cli train --stage sft --model_name_or_path google/gemma-3-12b-it --image_max_pixels {} --cutoff_len 2048"
    assert {image_pixels(plan(command.format(pixels))) / 3136 for pixels in (262144, 589824)} == {256}


@pytest.mark.parametrize(("model", "twice"), [("OpenGVLab/InternVL3-8B", 1), ("Qwen/Qwen2.5-VL-7B-Instruct", 2)])
def test_the_host_holds_pixels_as_often_as_a_tower_joins_frames(model: str, twice: int) -> None:
    """transformers 4.57.1 models/qwen2_vl/image_processing_qwen2_vl.py repeats a single image in time; others do not"""
    command = (
        f"python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path={model} data.train_batch_size=512 "
        "data.max_prompt_length=8192 data.max_response_length=1024 actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8\n"
        "each prompt has 6 images of 1280x720"
    )
    hows = [term.how for phase in host_pool(plan(command)).phases for term in phase.terms]
    assert any(f"patches × {twice * 12 * 14**2:,} B" in how for how in hows)


@pytest.mark.parametrize(("pixels", "tokens"), [("", 392), ("--max_pixels 3211264", 4096)])
def test_images_are_photographs_where_a_default_alone_limits_them(pixels: str, tokens: int) -> None:
    """VLM-R1 takes up to 12,845,056 pixels by default, and never reads the limit of prompts"""
    command = "torchrun src/open_r1/grpo_jsonl.py --model_name_or_path Qwen/Qwen2.5-VL-3B-Instruct --max_completion_length 512"
    prompt = real_row(plan(f"{command} {pixels}"), 8)[0]
    assert tokens < prompt.mid < tokens + 200
