"""Tokens of programs: what does not hold, what a scope keeps out, and that no token is ever kept."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from kb import tokens
from kb.models import Event, Role, Token
from tests.kb.world import World, member

pytestmark = pytest.mark.django_db


def showing(token: str, kind: str = "Bearer") -> HttpRequest:
    return RequestFactory().get("/", headers={"Authorization": f"{kind} {token}"})


def diagnose(token: str = "", client: Client | None = None) -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return (client or Client()).post("/diagnose", "x", content_type="text/plain", headers=headers)


@pytest.fixture
def reader() -> User:
    return member(Role.READER)


@pytest.mark.parametrize("shown", ["", "headroom_made-up", " ", "x" * 5000])
def test_a_made_up_token_is_refused(shown: str) -> None:
    with pytest.raises(tokens.Refused):
        tokens.user_of(showing(shown), "read")


def test_an_expired_token_is_refused(reader: User) -> None:
    token = tokens.make(reader, "old", ["read"], 30)
    Token.objects.update(expires=timezone.now())
    with pytest.raises(tokens.Refused) as refused:
        tokens.user_of(showing(token), "read")
    assert refused.value.status == 401


def test_a_token_of_somebody_deactivated_or_without_a_role_is_refused(reader: User) -> None:
    token = tokens.make(reader, "old", ["read"], 30)
    User.objects.update(is_active=False)
    with pytest.raises(tokens.Refused):
        tokens.user_of(showing(token), "read")
    User.objects.update(is_active=True)
    reader.member.delete()
    with pytest.raises(tokens.Refused):
        tokens.user_of(showing(token), "read")


def test_a_scope_keeps_everything_else_out(reader: User) -> None:
    for scope in tokens.SCOPES:
        token = tokens.make(reader, scope, [scope], 30)
        for other in tokens.SCOPES:
            if other == scope:
                assert tokens.user_of(showing(token), other) == reader
                continue
            with pytest.raises(tokens.Refused) as refused:
                tokens.user_of(showing(token), other)
            assert refused.value.status == 403


def test_only_a_bearer_counts(reader: User) -> None:
    token = tokens.make(reader, "one", ["read"], 30)
    assert tokens.user_of(showing(token, "Basic"), "read") is None
    assert tokens.user_of(RequestFactory().get(f"/?token={token}"), "read") is None
    assert tokens.user_of(showing(token, "bearer"), "read") == reader


def test_a_view_with_an_unknown_scope_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="SCOPES"):
        tokens.for_programs("everything")


def test_the_database_holds_no_token_in_the_clear(reader: User) -> None:
    token = tokens.make(reader, "one", ["read"], 30)
    assert token not in str(Token.objects.values().get())


def test_the_last_use_is_noted_at_most_once_a_minute(reader: User, django_assert_num_queries: Any) -> None:
    request = showing(tokens.make(reader, "one", ["read"], 30))
    with django_assert_num_queries(2):
        tokens.user_of(request, "read")
    with django_assert_num_queries(1):
        tokens.user_of(request, "read")
    earlier = timezone.now() - timedelta(minutes=2)
    Token.objects.update(used=earlier)
    tokens.user_of(request, "read")
    assert Token.objects.get().used > earlier


def test_a_shell_gets_words_where_the_site_is_for_members(settings: Any, reader: User) -> None:
    settings.MEMBERS_ONLY = True
    browser = Client()
    browser.force_login(reader)
    for response in (diagnose(), diagnose("headroom_made-up"), diagnose(client=browser)):
        assert response.status_code == 401
        assert response.headers["Content-Type"].startswith("text/plain")
        assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert diagnose(tokens.make(reader, "reads", ["read"], 30)).status_code == 403
    assert diagnose(tokens.make(reader, "matches", ["match"], 30)).status_code == 200


def test_a_bad_token_is_refused_on_an_open_site_too(reader: User) -> None:
    assert diagnose().status_code == 200
    assert diagnose("headroom_made-up").status_code == 401


def test_json_of_a_site_for_members_answers_a_program_in_words(settings: Any) -> None:
    settings.MEMBERS_ONLY = True
    response = Client().get("/levers.json")
    assert response.status_code == 401
    assert response.headers["Content-Type"].startswith("text/plain")


def test_nobody_revokes_or_sees_the_token_of_another(world: World) -> None:
    for role, user in world.people.items():
        browser = Client()
        browser.force_login(user)
        listed = "nightly" in browser.get(reverse("kb:tokens")).content.decode()
        assert listed == (role == Role.READER)
        if role != Role.READER:
            assert browser.post(reverse("kb:token_revoke", args=[world.token.pk])).status_code == 404
    assert Token.objects.filter(pk=world.token.pk).exists()


def test_a_token_is_shown_once_and_its_making_and_end_are_noted(reader: User) -> None:
    browser = Client()
    browser.force_login(reader)
    fields = {"name": "nightly", "scopes": ["read", "match"], "days": "30"}
    page = browser.post(reverse("kb:token_new"), fields)
    token = page.context["token"]
    assert page.headers["Cache-Control"].count("no-store") == 1
    assert token in page.content.decode()
    assert token not in browser.get(reverse("kb:tokens")).content.decode()
    assert tokens.user_of(showing(token), "match") == reader
    browser.post(reverse("kb:token_revoke", args=[Token.objects.get().pk]))
    with pytest.raises(tokens.Refused):
        tokens.user_of(showing(token), "match")
    lines = Event.objects.order_by("pk").values_list("action", "what", "detail")
    assert list(lines) == [("made a token", "nightly", "read, match, 30 days"), ("revoked a token", "nightly", "")]


@pytest.mark.parametrize("fields", [{"scopes": []}, {"scopes": ["admin"]}, {"days": "3650"}, {"name": ""}])
def test_a_token_without_scope_name_or_end_is_not_made(reader: User, fields: dict[str, Any]) -> None:
    browser = Client()
    browser.force_login(reader)
    given = {"name": "nightly", "scopes": ["read"], "days": "30", **fields}
    assert browser.post(reverse("kb:token_new"), given).status_code == 200
    assert not Token.objects.exists()


def test_a_token_does_not_sign_a_browser_in(reader: User) -> None:
    token = tokens.make(reader, "one", ["read", "match", "write"], 30)
    headers = {"Authorization": f"Bearer {token}"}
    assert Client().get(reverse("kb:me"), headers=headers).status_code == 302
    assert Client().get(reverse("kb:tokens"), headers=headers).status_code == 302
    assert not diagnose(token).cookies
    assert isinstance(Client().get("/", headers=headers).wsgi_request.user, AnonymousUser)
