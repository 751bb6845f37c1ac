"""Somebody looks for a fix without an account: lists, facets, a case, its lever, search in two languages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import Seat

pytestmark = pytest.mark.browser


def test_a_fix_is_browsed_to_and_searched_for(seat: Callable[..., Seat]) -> None:
    visitor = seat()
    page = visitor.go("/")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Cases").click()
    page.wait_for_url("**/cases/")
    visitor.look()
    page.get_by_role("complementary", name="Narrow down").get_by_role("link", name="host RAM").click()
    page.wait_for_url("**/cases/?kind=host_ram")
    listed = page.locator(".case").all_inner_texts()
    assert listed
    assert [case for case in listed if "host RAM" not in case] == []
    visitor.look()
    page.get_by_role("link", name="Host RAM fills during weight sync").click()
    page.wait_for_url("**/cases/gloo-host/")
    visitor.look()
    page.locator("tbody th a[href^='/levers/']").first.click()
    page.wait_for_url("**/levers/*/")
    visitor.look()
    for words, found in (
        ("显存不足", "推理时显存不足"),
        ("optimizer step fails", "The optimizer step fails on eight cards"),
    ):
        page.fill("#q", words)
        page.press("#q", "Enter")
        page.wait_for_url("**/search/?q=*")
        assert found in page.inner_text(".found")
        visitor.look()
    if visitor.way.scripts:
        page.fill("#q", "optimizer step fails on ei")
        page.locator("#suggested a", has_text="The optimizer step fails").click()
        page.wait_for_url("**/cases/optimizer-step/")
    else:
        page.get_by_role("link", name="The optimizer step fails on eight cards").click()
    assert page.inner_text("h1") == "The optimizer step fails on eight cards"
    visitor.look()


def test_where_nothing_is_found_the_way_on_is_shown(seat: Callable[..., Seat]) -> None:
    visitor = seat()
    page = visitor.go("/search/?q=zzzzqqq")
    assert page.get_by_role("link", name="paste the log").is_visible()
    page.goto(visitor.url + "/search/?q=Traceback%20(most%20recent%20call%20last)")
    assert page.input_value("#paste").startswith("Traceback")
    visitor.look()
