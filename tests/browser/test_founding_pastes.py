"""The pastes under tests/pastes as a person gives them: into the box of the real site, in a real browser."""

from __future__ import annotations

import pytest

from tests.test_pastes import folders, read

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", folders())
def test_a_pasted_failure_is_named_and_its_own_case_shown_first(page, live_site, name):
    text, expected = read(name)
    page.goto(live_site.url)
    page.fill("#paste", text)
    page.click(".paste .btn.go")
    page.wait_for_selector(".verdict")
    ran_out = "Host RAM runs out" if expected["pool"] == "host" else "GPU memory runs out"
    assert page.inner_text("h1").startswith(ran_out)
    assert page.locator(".cases h3 a").first.get_attribute("href").endswith(f"/{expected['case']}/")
    for id, value in expected["facts"].items():
        if isinstance(value, str) and id in ("gpu_model", "model"):
            assert value in page.inner_text("#facts")
