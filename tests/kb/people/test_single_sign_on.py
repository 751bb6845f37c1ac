"""Single sign-on against a real provider over real HTTP; the browser of the test is Django's client on one side, urllib on the other."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from kb import links
from kb.models import Event, Member, Role, role_of
from tests.kb.people import provider as openid
from tests.kb.people.provider import Provider
from tests.kb.world import member

BACK = "/sign-in/with/sso/back/"


@pytest.fixture
def provider(settings: Any) -> Iterator[Provider]:
    with openid.running() as running:
        running.claims = {"sub": "42", "preferred_username": "lin", "email": "lin@example.org", "email_verified": True}
        switch_on(settings, running.issuer)
        yield running


def switch_on(settings: Any, issuer: str) -> None:
    """What config/settings.py makes of OIDC_ISSUER and its companions."""
    application = {
        "provider_id": "sso",
        "name": "Lab login",
        "client_id": openid.CLIENT,
        "secret": openid.SECRET,
        "settings": {"server_url": issuer, "verified_email": False},
    }
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APP": application}}
    settings.SIGN_ON, settings.SIGN_ON_NAME, settings.SIGN_ON_ROLE = issuer, "Lab login", "READER"


def leave(client: Client, **fields: str) -> str:
    """Presses the button; the provider's address that the page leads to."""
    page = client.post(reverse("openid_connect_login", args=["sso"]), fields)
    assert page.status_code == 200
    return page.headers["Refresh"].removeprefix("0; url=")


def at_the_provider(address: str) -> str:
    """Visits the provider as a browser would; the address of ours that it sends the browser back to."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    try:
        urllib.request.build_opener(Stay).open(address, timeout=60)
    except urllib.error.HTTPError as answer:
        back = urlsplit(answer.headers["Location"])
        return f"{back.path}?{back.query}"
    raise AssertionError("the provider sent nobody back")


def go(client: Client, **fields: str) -> HttpResponse:
    """The whole way there and back."""
    return client.get(at_the_provider(leave(client, **fields)))


def signed_in(client: Client) -> str:
    user_id = client.session.get("_auth_user_id")
    return User.objects.get(pk=user_id).username if user_id else ""


def test_an_address_that_the_provider_has_not_verified_is_refused(provider: Provider, client: Client) -> None:
    provider.claims["email_verified"] = False
    response = go(client)
    assert response.status_code == 403
    assert "has not verified your address" in response.content.decode()
    assert not User.objects.exists()
    assert Event.objects.get().action == "sign-in failed"


def test_somebody_without_an_address_is_refused(provider: Provider, client: Client) -> None:
    del provider.claims["email"]
    assert go(client).status_code == 403
    assert not User.objects.exists()


def test_the_same_address_is_no_way_into_an_account_that_is_here(provider: Provider, client: Client) -> None:
    User.objects.create_user("boss", "LIN@example.org", "correct-horse-9")
    response = go(client)
    assert response.status_code == 403
    assert "connect Lab login on your own page" in response.content.decode()
    assert signed_in(client) == ""
    assert User.objects.count() == 1


def test_a_stranger_is_refused_where_only_the_invited_may(provider: Provider, client: Client, settings: Any) -> None:
    settings.SIGN_ON_ROLE = "NOBODY"
    response = go(client)
    assert response.status_code == 403
    assert "by invitation" in response.content.decode()
    assert not User.objects.exists()


def test_an_answer_that_this_browser_did_not_ask_for_signs_nobody_in(provider: Provider, client: Client) -> None:
    back = at_the_provider(leave(client))
    victim = Client()
    assert victim.get(back).status_code == 401
    assert signed_in(victim) == ""
    assert not User.objects.exists()


def test_an_answer_is_good_once(provider: Provider, client: Client) -> None:
    back = at_the_provider(leave(client))
    client.get(back)
    client.logout()
    assert client.get(back).status_code == 401
    assert signed_in(client) == ""


def test_a_wrong_code_signs_nobody_in(provider: Provider, client: Client) -> None:
    back = at_the_provider(leave(client))
    provider.codes.clear()
    assert client.get(back).status_code == 401
    assert signed_in(client) == ""


def test_a_get_begins_nothing(provider: Provider, client: Client) -> None:
    assert client.get(reverse("openid_connect_login", args=["sso"])).status_code == 405
    assert provider.asked == []


def test_a_form_of_another_site_begins_nothing(provider: Provider) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(reverse("openid_connect_login", args=["sso"])).status_code == 403
    assert provider.asked == []


def test_where_to_go_next_stays_on_this_site(provider: Provider, client: Client) -> None:
    response = go(client, next="https://evil.example/")
    assert response.headers["Location"] == "/"


def test_a_provider_that_is_away_is_said_with_the_other_ways_in(settings: Any, db: None, client: Client) -> None:
    with openid.running() as gone:
        switch_on(settings, gone.issuer)
    response = client.post(reverse("openid_connect_login", args=["sso"]))
    assert response.status_code == 503
    assert "sign in with your password" in response.content.decode()
    assert "sign_in_link" in response.content.decode()


def test_without_the_settings_there_is_no_button_and_no_way(db: None, client: Client) -> None:
    assert "/sign-in/with/" not in client.get(reverse("account_login")).content.decode()
    assert client.post(reverse("openid_connect_login", args=["sso"])).status_code == 404
    assert client.get(BACK).status_code == 404


def test_a_newcomer_gets_the_role_of_the_setting(provider: Provider, client: Client, settings: Any) -> None:
    settings.SIGN_ON_ROLE = "EDITOR"
    response = go(client, next="/cases/")
    assert response.headers["Location"] == "/cases/"
    assert signed_in(client) == "lin"
    assert role_of(User.objects.get()) == Role.EDITOR
    assert [event.action for event in Event.objects.order_by("pk")] == ["joined", "signed in"]


def test_the_second_time_it_is_the_same_account_with_the_role_it_has_now(provider: Provider, client: Client) -> None:
    go(client)
    Member.objects.update(role=Role.REVIEWER)
    client.logout()
    provider.claims["email"] = "lin.new@example.org"
    go(client)
    assert signed_in(client) == "lin"
    assert role_of(User.objects.get()) == Role.REVIEWER


def test_a_name_that_is_taken_is_not_taken_over(provider: Provider, client: Client) -> None:
    member(Role.ADMIN, "Lin")
    go(client)
    assert signed_in(client) not in ("", "Lin", "lin")
    assert Member.objects.filter(role=Role.ADMIN).get().user.username == "Lin"


def test_somebody_deactivated_does_not_come_back_by_the_provider(provider: Provider, client: Client) -> None:
    go(client)
    client.logout()
    User.objects.update(is_active=False)
    go(client)
    assert signed_in(client) == ""


def test_an_invitation_can_be_accepted_this_way_and_is_spent(provider: Provider, client: Client, settings: Any) -> None:
    settings.SIGN_ON_ROLE = "NOBODY"
    token = links.make(Role.REVIEWER, links.INVITATION_LIFETIME)
    assert "Or come with Lab login" in client.get(reverse("kb:join", args=[token])).content.decode()
    go(client)
    assert role_of(User.objects.get()) == Role.REVIEWER
    assert links.find(token) is None


def test_a_member_who_is_signed_in_connects_it_after_the_password(provider: Provider, client: Client) -> None:
    user = User.objects.create_user("lin", "lin@example.org", "correct-horse-9")
    Member.objects.create(user=user, role=Role.EDITOR)
    client.login(username="lin", password="correct-horse-9")
    asked = go(client, process="connect")
    assert asked.headers["Location"].startswith(reverse("account_reauthenticate"))
    client.post(asked.headers["Location"], {"password": "correct-horse-9"})
    client.logout()
    go(client)
    assert signed_in(client) == "lin"
    assert User.objects.count() == 1
    assert Event.objects.filter(action="connected single sign-on").count() == 1


def test_it_asks_the_provider_with_a_challenge_and_a_state(provider: Provider, client: Client) -> None:
    query = parse_qs(urlsplit(leave(client)).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["state"]
    assert query["client_id"] == [openid.CLIENT]
    assert query["redirect_uri"] == [f"http://testserver{BACK}"]
