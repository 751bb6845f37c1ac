"""The narrowest phone: no page scrolls sideways, and nothing is smaller than can be read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.live import Site

pytestmark = pytest.mark.browser
PAGES = [
    "/",
    "/cases/",
    "/cases/search-r1-32b-16-h100/",
    "/errors/tpu-hbm/",
    "/errors/torch-cuda-oom-short/",
    "/gpus/mi210/",
    "/guides/which-batch-key-counts-what/",
    "/levers/rollout.enforce_eager.on/",
    "/search/?q=offload" + "x" * 90,
]
TWO_ADVISORIES = """8 x A100 80GB
accelerate launch --config_file zero3.yaml train_grpo.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct --num_generations 8 \\
  --per_device_train_batch_size 4 --max_prompt_length 512 --max_completion_length 2048 --gradient_checkpointing true --bf16 true
trl==0.21.0
zero3.yaml:
distributed_type: DEEPSPEED
deepspeed_config:
  zero_stage: 3
num_processes: 8
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB.
  File "/opt/trl/trainer/grpo_trainer.py", line 1500, in compute_loss
"""
SMALL = """() => {
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = new Set();
  for (let text; (text = words.nextNode());) {
    const { parentElement: one } = text;
    if (!text.data.trim() || one.closest("script") || !one.checkVisibility()) continue;
    const scale = one.getScreenCTM ? one.getScreenCTM().a : 1, size = parseFloat(getComputedStyle(one).fontSize) * scale;
    if (size < 11.99) found.add(`${one.outerHTML.slice(0, 80)}: ${size}`);
  }
  return [...found];
}"""


@pytest.mark.parametrize("width", [360, 390])
@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_and_can_be_read(page: Any, live_site: Site, path: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(live_site.url + path)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(SMALL) == []


def test_an_answer_with_several_advisories_fits(page: Any, live_site: Site) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(live_site.url)
    page.fill("textarea", TWO_ADVISORIES)
    page.locator("textarea").evaluate("one => one.form.requestSubmit()")
    page.wait_for_selector(".btn.titled >> nth=1")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_navigation_stands_where_one_is(page: Any, live_site: Site) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(live_site.url + "/frameworks/")
    place = page.locator(".nav [aria-current]").bounding_box()
    assert place["x"] >= 0
    assert place["x"] + place["width"] <= 390


def test_a_table_that_is_too_wide_scrolls_in_its_frame_by_keyboard_too(page: Any, live_site: Site) -> None:
    page.set_viewport_size({"width": 280, "height": 800})
    page.goto(live_site.url + "/cases/search-r1-32b-16-h100/")
    frame = page.locator(".prose .scroll:has(table)").first
    assert frame.evaluate("one => one.scrollWidth > one.clientWidth")
    frame.focus()
    assert frame.evaluate("one => document.activeElement === one")
