"""A session that ends while somebody writes, and a sign-in in another tab: the page stays, and so does what was typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Seat

pytestmark = pytest.mark.browser
EDIT = "/cases/gloo-host/edit/"


def end_session(seat: Seat) -> None:
    seat.page.context.clear_cookies(name="sessionid")


def sign_in(page: Any, name: str) -> None:
    page.fill("#id_login", name)
    page.fill("#id_password", "correct-horse-9")
    page.click("button:has-text('Sign in')")
    page.wait_for_selector(f".tools >> text={name}")


def sign_in_beside(seat: Seat, link: str, name: str) -> str:
    """Follows the link to another tab and signs in there; where one is then."""
    with seat.page.context.expect_page() as opened:
        seat.page.locator(link).first.click()
    beside = opened.value
    sign_in(beside, name)
    where = str(beside.url).removeprefix(seat.url)
    beside.close()
    return where


def send_again(seat: Seat) -> None:
    """A second time where no script takes the new token: the page that says so holds the words too."""
    seat.page.click("button:has-text('Send it again')")
    seat.page.wait_for_load_state()
    if not seat.way.scripts:
        seat.look()
        seat.page.click("button:has-text('Send it again')")
        seat.page.wait_for_load_state()


def test_a_remark_of_an_ended_session_is_kept_and_sent_after_signing_in(seat: Callable[..., Seat]) -> None:
    rea, words = seat("rea"), "Seen on eight H800 too."
    rea.go("/cases/optimizer-step/")
    words = f"{words} {rea.way}"
    rea.page.fill("#remark", words)
    end_session(rea)
    rea.page.get_by_role("button", name="Comment", exact=True).click()
    rea.page.wait_for_selector("text=You are not signed in any more")
    rea.look()
    assert rea.page.input_value("main textarea") == words
    assert sign_in_beside(rea, "main a:has-text('Sign in in another tab')", "rea") == "/cases/optimizer-step/"
    send_again(rea)
    rea.page.wait_for_url("**/cases/optimizer-step/#comment-*")
    assert words in rea.page.inner_text("main")


def test_the_editor_stays_open_when_the_session_ends_and_saves_after_signing_in(seat: Callable[..., Seat]) -> None:
    lin = seat("lin")
    lin.go(EDIT)
    mark = f"Written while the session ended, {lin.way}."
    text = lin.page.input_value("#doc").replace("## Symptom\n", f"## Symptom\n\n{mark}\n", 1)
    end_session(lin)
    lin.page.fill("#doc", text)
    if lin.way.scripts:
        lin.page.wait_for_selector("#preview >> text=sign in in another tab")
        lin.page.wait_for_selector("#kept >> text=sign in in another tab")
        lin.look()
        assert lin.page.url.endswith(EDIT)
        assert sign_in_beside(lin, "#preview a", "lin") == EDIT
    lin.page.click(".savebar .go")
    lin.page.wait_for_load_state()
    if not lin.way.scripts:
        lin.page.wait_for_selector("text=You are not signed in any more")
        assert sign_in_beside(lin, "main a:has-text('Sign in in another tab')", "lin") == EDIT
        send_again(lin)
    lin.page.wait_for_url("**/cases/gloo-host/")
    assert mark in lin.page.inner_text("main")


def test_a_paste_is_diagnosed_after_a_sign_in_in_another_tab(seat: Callable[..., Seat]) -> None:
    one = seat()
    one.go("/")
    one.page.fill("#paste", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    beside = one.page.context.new_page()
    beside.goto(one.url + "/sign-in/")
    sign_in(beside, "mo")
    one.page.click(".paste .btn.go")
    one.page.wait_for_load_state()
    if not one.way.scripts:
        one.look()
        assert "Tried to allocate" in one.page.input_value("#paste")
        one.page.click(".paste .btn.go")
    one.page.wait_for_selector(".verdict")
