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
    "/search/?q=offload",
]
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
