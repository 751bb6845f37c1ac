"""Will it fit? in a real browser: the form, the redraw, the tables of links; by phone and desk, day and night."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

pytestmark = pytest.mark.browser


def in_view(page, query):
    place = page.locator(query).bounding_box()
    return 0 <= place["y"] < page.viewport_size["height"]


def test_a_run_is_set_and_drawn_again(seat, way):
    person = seat()
    page = person.go("/fit/")
    assert page.inner_text("[data-answer]").startswith("It fits")
    assert page.is_visible("svg.slim" if way.width < 680 else "svg.wide")
    page.select_option("[name=card]", "A100:40")
    page.fill("[name=micro_batch]", "64")
    page.click("text=Draw it")
    page.wait_for_selector(".stamp.out, .stamp.close")
    person.look()
    asked = parse_qs(urlsplit(page.url).query)
    assert (asked["gpu_model"], asked["gpu_mem_gib"], asked["micro_batch"]) == (["A100"], ["40"], ["64"])
    if way.scripts:
        assert page.evaluate("document.activeElement.hasAttribute('data-answer')")
        assert in_view(page, "[data-answer]")


def test_a_cell_leads_to_its_run_and_back_leads_to_the_first(seat):
    person = seat()
    page = person.go("/fit/")
    page.locator(".map td:not(.you) a").last.click()
    page.wait_for_url("**n_gpus=32**")
    page.wait_for_selector(".map .you >> text=/\\d/")
    person.look()
    assert page.input_value("[name=n_gpus]") == "32"
    page.go_back()
    page.wait_for_url("**n_gpus=8**")
    page.wait_for_selector("[name=n_gpus][value='8']")


def test_the_largest_is_set_by_its_link(seat):
    page = seat().go("/fit/")
    largest = page.locator(".most a").first.inner_text()
    page.locator(".most a").first.click()
    page.wait_for_url(f"**micro_batch={largest}**")
    page.wait_for_selector(f"[name=micro_batch][value='{largest}']")
    assert page.inner_text("[data-answer]").startswith("It fits")


def test_a_wrong_value_is_told_at_its_field(seat, way):
    person = seat()
    page = person.go("/fit/")
    page.fill("[name=n_gpus]", "many")
    page.click("text=Draw it")
    page.wait_for_selector("#err-n_gpus")
    assert page.input_value("[name=n_gpus]") == "many"
    if way.scripts:
        assert page.evaluate("document.activeElement.name") == "n_gpus"
        assert in_view(page, "#err-n_gpus")
        assert page.locator(".toast").count() == 0
    person.look()


def test_the_sentence_of_the_first_page_leads_there(seat):
    page = seat().go("/")
    page.click(".sentence button")
    page.wait_for_selector(".map")
    assert urlsplit(page.url).path == "/fit/"
    assert page.locator("nav [aria-current]").inner_text() == "Will it fit?"
