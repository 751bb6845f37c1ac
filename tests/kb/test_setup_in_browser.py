"""The first admin, made with the link that the first start prints, in a real browser on the real server."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.live import Site

pytestmark = pytest.mark.browser


def test_the_printed_link_makes_an_admin_who_is_signed_in(live_site: Site, page: Any) -> None:
    link = re.search(r"http://\S+/setup/\S+", live_site.said())
    assert link
    page.goto(link[0])
    page.get_by_label("Username").fill("lin")
    page.get_by_label("Password", exact=True).fill("correct-horse-9")
    page.get_by_label("Password confirmation").fill("correct-horse-9")
    page.get_by_role("button", name="Become an admin").click()
    page.wait_for_url("**/cases/")
    page.goto(live_site.url + "/admin/")
    assert "Site administration" in page.content()
    assert page.goto(link[0]).status == 404
