"""Single sign-on in a real browser, whose policy holds ``form-action 'self'`` against redirects too; members only."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kb.people import provider as openid
from tests.live import Site, start_site

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def provider() -> Iterator[openid.Provider]:
    with openid.running() as running:
        yield running


@pytest.fixture(scope="module")
def site(prepared: Path, provider: openid.Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site for members who come from elsewhere."""
    running = start_site(
        Path(shutil.copytree(prepared, tmp_path_factory.mktemp("state"), dirs_exist_ok=True)),
        MEMBERS_ONLY="1",
        OIDC_ISSUER=provider.issuer,
        OIDC_CLIENT_ID=openid.CLIENT,
        OIDC_CLIENT_SECRET=openid.SECRET,
        OIDC_NAME="Lab login",
        OIDC_ROLE="editor",
    )
    yield running
    running.stop()


def test_the_button_leads_there_and_back_into_a_site_for_members(
    site: Site, provider: openid.Provider, page: Any
) -> None:
    provider.claims = {"sub": "7", "preferred_username": "mei", "email": "mei@example.org", "email_verified": True}
    page.goto(site.url + "/cases/")
    page.get_by_role("button", name="Sign in with Lab login").click()
    page.wait_for_url(site.url + "/cases/")
    page.get_by_role("link", name="mei", exact=True).click()
    assert "Editor" in page.locator("main").inner_text()
    assert len(provider.asked) == 1


def test_a_site_for_members_answers_its_health_and_its_static_files_to_all(site: Site) -> None:
    assert site.get("/healthz")[0] == 200
    _, sign_in = site.get("/levers/")
    assert "<h1>Sign in</h1>" in sign_in
    style = sign_in.split('rel="stylesheet" href="')[1].split('"')[0]
    assert site.get(style)[0] == 200
    assert site.get("/levers.json")[0] == 401
