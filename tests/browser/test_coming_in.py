"""Coming in, in a real browser on the real server: the first admin, an invitation, signing out and in, codes from an app."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.kb.people.codes import code_now
from tests.live import Site

pytestmark = pytest.mark.browser
PASSWORD = "correct-horse-9"


def join(page: Any, link: str, name: str, role: str) -> None:
    page.goto(link)
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name=re.compile(f"Become an? {role}")).click()
    page.get_by_role("link", name=name, exact=True).wait_for()


def test_the_printed_link_makes_an_admin_whose_invitation_makes_an_editor_with_codes(
    live_site: Site, page: Any
) -> None:
    printed = re.search(r"http://\S+/setup/\S+", live_site.said())
    assert printed
    join(page, printed[0], "lin", "admin")
    assert page.goto(printed[0]).status == 404

    page.goto(live_site.url + "/members/invitations/")
    page.get_by_label("As").select_option("editor")
    page.get_by_role("button", name="Make an invitation").click()
    link = page.get_by_label("Link", exact=True).input_value()
    sign_out(page, live_site)

    join(page, link, "mei", "editor")
    sign_out(page, live_site)
    sign_in(page, live_site, "mei")
    page.get_by_role("link", name="mei", exact=True).wait_for()
    secret = turn_codes_on(page, live_site)
    sign_out(page, live_site)

    sign_in(page, live_site, "mei")
    page.get_by_label("Code").fill(code_now(secret))
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("link", name="mei", exact=True).wait_for()
    assert page.goto(live_site.url + "/members/").status == 403


def sign_out(page: Any, site: Site) -> None:
    page.goto(site.url + "/me/")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("link", name="Sign in").wait_for()


def sign_in(page: Any, site: Site, name: str) -> None:
    page.goto(site.url + "/sign-in/")
    page.get_by_label("Name or e-mail").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def turn_codes_on(page: Any, site: Site) -> str:
    """The key, read from the page as somebody without a camera would."""
    page.goto(site.url + "/me/codes/")
    page.get_by_role("link", name="Turn on").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    secret = str(page.locator("code.mono").inner_text())
    assert page.get_by_role("img", name="The key as a picture").bounding_box()["width"] == 232
    page.get_by_label("Authenticator code").fill(code_now(secret))
    page.get_by_role("button", name="Turn on").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()
    return secret
