"""Somebody pastes a failure, corrects what was read, follows the prescription, keeps it and makes it a case of the team."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import Seat
from wizard.home import EXAMPLE

pytestmark = pytest.mark.browser


def test_a_paste_becomes_a_case_that_others_read(seat: Callable[..., Seat]) -> None:
    lin = seat("lin")
    page = lin.go("/")
    page.fill("#paste", EXAMPLE.read_text())
    page.click(".paste .btn.go")
    page.wait_for_selector(".verdict")
    lin.look()
    page.click("#fact-rollout_n summary")
    page.fill('[name="rollout_n"][form="again"]', "16")
    page.click("#fact-rollout_n button")
    page.wait_for_selector("#fact-rollout_n .chip.you")
    assert page.locator("#rx1 .swap").count() >= 1
    lin.look()
    page.get_by_role("button", name="Save for 90 days").click()
    page.wait_for_url("**/saved/*/*/")
    lin.look()
    shown = page.get_by_role("link", name="/saved/").first.get_attribute("href")

    reader = seat()
    reader.page.goto(shown)
    assert reader.page.inner_text("h1") == page.inner_text("h1")
    assert reader.page.get_by_role("button", name="Delete it now").count() == 0
    reader.look()

    page.get_by_label("it worked").or_(page.locator("input[name=outcome][value=worked]")).first.check()
    page.select_option("#own-lever", index=1)
    page.fill("#own-words", "It ran through the night.")
    page.get_by_role("button", name="Keep the outcome").click()
    page.wait_for_selector("#own-words")
    assert page.input_value("#own-words") == "It ran through the night."
    page.get_by_role("button", name="Make it a case").click()
    page.wait_for_url("**/cases/*/edit/")
    lin.look()
    title = f"Written down from a paste, {lin.way}"
    text = page.input_value("#doc")
    page.fill("#doc", text.replace(text.split("\n")[1], f'title = "{title}"'))
    page.fill("#why", "a title of its own")
    page.click(".savebar .go")
    page.wait_for_url(lambda url: "/edit/" not in url)
    page.get_by_role("button", name="Publish").click()
    page.get_by_text("A draft", exact=True).wait_for(state="detached")
    assert page.inner_text("h1") == title
    lin.look()
    reader.page.goto(page.url)
    assert reader.page.inner_text("h1") == title
