"""Signing in and out, passwords and codes, without a browser: what is refused, and what nobody can tell from the answer."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from config.celery import app
from kb.models import Event, Member, Role
from tests.kb.people.codes import code_now

PASSWORD = "correct-horse-9"
ELSEWHERE = (
    "https://evil.example/",
    "//evil.example/",
    "///evil.example",
    "http:evil.example",
    "https:///evil.example",
    "javascript:alert(1)",
    "\\\\evil.example",
    "/\\evil.example",
    "http://testserver@evil.example/",
    "http://testserver.evil.example/",
)


@pytest.fixture
def lin(db: None) -> User:
    user = User.objects.create_user("lin", "lin@example.org", PASSWORD)
    Member.objects.create(user=user, role=Role.EDITOR)
    return user


@pytest.fixture
def post(settings: Any) -> Any:
    """Mail is switched on and goes through the worker's task, run at once."""
    settings.HAS_MAIL = settings.ACCOUNT_EMAIL_NOTIFICATIONS = True
    app.conf.task_always_eager = True
    yield mail.outbox
    app.conf.task_always_eager = False


def sign_in(client: Client, name: str = "lin", password: str = PASSWORD, **more: str) -> HttpResponse:
    return client.post(reverse("account_login"), {"login": name, "password": password, **more})


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def said(response: HttpResponse) -> str:
    return response.content.decode()


def without_what_was_typed(page: str, *typed: str) -> str:
    for word in typed:
        page = page.replace(str(word), "…")
    return page


def test_a_wrong_password_and_an_unknown_name_get_the_same_answer(lin: User) -> None:
    wrong = sign_in(Client(), "lin", "wrong-horse-9")
    unknown = sign_in(Client(), "nil", "wrong-horse-9")
    assert wrong.status_code == unknown.status_code == 200
    hide = ("lin", "nil", wrong.context["csrf_token"], unknown.context["csrf_token"])
    assert without_what_was_typed(said(wrong), *hide) == without_what_was_typed(said(unknown), *hide)


def test_a_deactivated_member_is_not_let_in(lin: User, client: Client) -> None:
    User.objects.update(is_active=False)
    response = sign_in(client)
    assert response.headers["Location"] == reverse("account_inactive")
    assert not is_in(client)


def test_after_five_wrong_passwords_the_right_one_does_not_help_for_a_while(lin: User, client: Client) -> None:
    for _ in range(5):
        sign_in(client, password="wrong-horse-9")
    response = sign_in(client)
    assert not is_in(client)
    assert "Too many" in said(response)


def test_guessing_through_many_names_is_stopped_by_the_address(lin: User, client: Client) -> None:
    for number in range(10):
        sign_in(client, f"name{number}", "wrong-horse-9")
    sign_in(client)
    assert not is_in(client)


@pytest.mark.parametrize("address", ELSEWHERE)
def test_next_never_leads_off_the_site(lin: User, client: Client, address: str) -> None:
    location = urlsplit(sign_in(client, next=address).headers["Location"])
    assert location.netloc in ("", "testserver")
    assert location.path == "/"


def test_next_leads_to_a_page_of_the_site(lin: User, client: Client) -> None:
    assert sign_in(client, next="/cases/?kind=gpu_oom").headers["Location"] == "/cases/?kind=gpu_oom"


@pytest.mark.parametrize("address", ELSEWHERE)
def test_next_of_signing_out_never_leads_off_the_site(lin: User, client: Client, address: str) -> None:
    client.force_login(lin)
    location = client.post(reverse("account_logout"), {"next": address}).headers["Location"]
    assert location == "/"


def test_the_session_of_before_is_not_the_session_of_after(lin: User, client: Client) -> None:
    session = client.session
    session["planted"] = "yes"
    session.save()
    planted = session.session_key
    client.cookies["sessionid"] = planted
    sign_in(client)
    assert is_in(client)
    assert client.session.session_key != planted


def test_a_form_of_another_site_signs_nobody_in_or_out(lin: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert sign_in(strict).status_code == 403
    strict.force_login(lin)
    assert strict.post(reverse("account_logout")).status_code == 403
    assert is_in(strict)


def test_a_get_signs_nobody_out(lin: User, client: Client) -> None:
    client.force_login(lin)
    assert client.get(reverse("account_logout")).status_code == 200
    assert is_in(client)


def test_the_session_cookie_is_out_of_reach_of_scripts_and_of_other_sites(lin: User, client: Client) -> None:
    cookie = sign_in(client).cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_one_signs_in_with_the_name_or_the_address_whatever_the_case(lin: User) -> None:
    for name in ("lin", "LIN", "lin@example.org", "Lin@Example.org"):
        client = Client()
        sign_in(client, name)
        assert is_in(client), name


def test_nobody_registers_by_themselves(db: None, client: Client) -> None:
    fields = {"username": "eve", "email": "eve@example.org", "password1": PASSWORD, "password2": PASSWORD}
    assert "by invitation" in said(client.post(reverse("account_signup"), fields))
    assert not User.objects.exists()


def test_the_audit_log_tells_of_failures_and_never_holds_what_was_typed(lin: User, client: Client) -> None:
    sign_in(client, "lin", "wrong-horse-9")
    sign_in(client, "my-secret-password", "x")
    lines = " ".join(f"{event.actor} {event.action} {event.what} {event.detail}" for event in Event.objects.all())
    assert Event.objects.filter(action="sign-in failed", what="lin").count() == 1
    assert Event.objects.filter(action="sign-in failed", what="a name that is not known here").count() == 1
    assert "horse" not in lines
    assert "secret" not in lines


def test_the_audit_log_tells_of_signing_in_and_out(lin: User, client: Client) -> None:
    sign_in(client)
    client.post(reverse("account_logout"))
    lines = Event.objects.order_by("pk").values_list("actor", "action", "detail")
    assert list(lines) == [("lin", "signed in", "password"), ("lin", "signed out", "")]


def test_a_forgotten_password_gets_the_same_answer_for_any_address(lin: User, post: list[Any]) -> None:
    answers = []
    for address in ("lin@example.org", "nobody@example.org"):
        response = Client().post(reverse("account_reset_password"), {"email": address}, follow=True)
        answers.append((response.redirect_chain, said(response)))
    assert answers[0] == answers[1]
    assert [message.to for message in post] == [["lin@example.org"]]


def test_asking_too_often_gets_a_page_that_says_so(lin: User, post: list[Any], client: Client) -> None:
    answers = [client.post(reverse("account_reset_password"), {"email": "lin@example.org"}) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [302] * 5 + [429]
    assert "Too often" in said(answers[-1])
    assert len(post) == 5


def test_without_mail_the_page_says_what_to_do_and_has_no_form(db: None, client: Client) -> None:
    page = said(client.get(reverse("account_reset_password")))
    assert "sign_in_link" in page
    assert "<form method" not in page.split("<main")[1]


def reset_link(post: list[Any]) -> str:
    words = post[-1].body
    return urlsplit(next(word for word in words.split() if "/password/new/" in word)).path


def test_a_host_that_a_stranger_names_is_in_no_mail(lin: User, post: list[Any], client: Client, settings: Any) -> None:
    settings.ALLOWED_HOSTS, settings.HAS_SITE_URL, settings.SITE_URL = ["*"], True, "https://wiki.example"
    client.post(reverse("account_reset_password"), {"email": "lin@example.org"}, headers={"Host": "evil.example"})
    assert "evil" not in post[-1].body
    assert f"https://wiki.example{reset_link(post)}" in post[-1].body


def test_where_no_address_is_set_a_mail_leads_to_where_the_site_was_asked(lin: User, post: list[Any]) -> None:
    Client().post(reverse("account_reset_password"), {"email": "lin@example.org"})
    assert f"http://testserver{reset_link(post)}" in post[-1].body


def test_a_link_to_a_new_password_works_once_and_ends_other_sessions(
    lin: User, post: list[Any], client: Client
) -> None:
    other = Client()
    other.force_login(lin)
    client.post(reverse("account_reset_password"), {"email": "lin@example.org"})
    link = reset_link(post)
    form = client.get(link).headers["Location"]
    client.post(form, {"password1": "another-horse-9", "password2": "another-horse-9"})
    sign_in(client, password="another-horse-9")
    assert is_in(client)
    assert other.get(reverse("kb:me")).status_code == 302
    assert "does not hold" in said(Client().get(link))
    assert Event.objects.filter(action="changed a password", what="lin").exists()


def test_a_changed_password_ends_other_sessions_and_is_told_by_mail(lin: User, post: list[Any], client: Client) -> None:
    other = Client()
    other.force_login(lin)
    sign_in(client)
    fields = {"oldpassword": PASSWORD, "password1": "another-horse-9", "password2": "another-horse-9"}
    assert client.post(reverse("account_change_password"), fields).headers["Location"] == reverse("kb:me")
    assert client.get(reverse("kb:me")).status_code == 200
    assert other.get(reverse("kb:me")).status_code == 302
    assert [(message.to, "password" in message.subject.lower()) for message in post] == [(["lin@example.org"], True)]
    assert Event.objects.filter(actor="lin", action="changed a password").exists()


@pytest.mark.parametrize("password", ["short1", "password", "lin@example.org"])
def test_a_weak_password_is_refused(lin: User, client: Client, password: str) -> None:
    sign_in(client)
    fields = {"oldpassword": PASSWORD, "password1": password, "password2": password}
    assert client.post(reverse("account_change_password"), fields).status_code == 200
    lin.refresh_from_db()
    assert lin.check_password(PASSWORD)


def turn_codes_on(client: Client) -> str:
    """Signed in already; the key that the app keeps."""
    page = client.get(reverse("mfa_activate_totp"))
    if page.status_code == 302:
        client.post(page.headers["Location"], {"password": PASSWORD})
        page = client.get(reverse("mfa_activate_totp"))
    secret = page.context["form"].secret
    assert client.post(reverse("mfa_activate_totp"), {"code": code_now(secret)}).status_code == 302
    return str(secret)


def test_codes_are_not_turned_on_or_off_without_the_password(lin: User, client: Client) -> None:
    sign_in(client)
    again = reverse("account_reauthenticate")
    assert client.get(reverse("mfa_activate_totp")).headers["Location"].startswith(again)
    turn_codes_on(client)
    session = client.session
    session["account_authentication_methods"] = []
    session.save()
    assert "again" in client.post(reverse("mfa_deactivate_totp")).headers["Location"]
    assert client.get(reverse("mfa_view_recovery_codes")).status_code == 302


def test_a_wrong_code_turns_nothing_on(lin: User, client: Client) -> None:
    sign_in(client)
    client.post(client.get(reverse("mfa_activate_totp")).headers["Location"], {"password": PASSWORD})
    client.get(reverse("mfa_activate_totp"))
    assert client.post(reverse("mfa_activate_totp"), {"code": "000000"}).status_code == 200
    assert not lin.authenticator_set.exists()


def test_the_password_alone_does_not_sign_in_where_codes_are_on(lin: User, client: Client) -> None:
    sign_in(client)
    turn_codes_on(client)
    other = Client()
    assert sign_in(other).headers["Location"] == reverse("mfa_authenticate")
    assert other.get(reverse("kb:me")).status_code == 302
    other.post(reverse("mfa_authenticate"), {"code": "000000"})
    assert not is_in(other)
    assert Event.objects.filter(action="sign-in failed", what="lin", detail="code").count() == 1


def test_guessing_codes_is_stopped(lin: User, client: Client) -> None:
    sign_in(client)
    secret = turn_codes_on(client)
    other = Client()
    sign_in(other)
    for number in range(5):
        other.post(reverse("mfa_authenticate"), {"code": f"00000{number}"})
    other.post(reverse("mfa_authenticate"), {"code": code_now(secret, time.time() + 30)})
    assert not is_in(other)


def test_a_code_signs_in_once(lin: User, client: Client) -> None:
    sign_in(client)
    code = code_now(turn_codes_on(client))
    entered = []
    for _ in range(2):
        other = Client()
        sign_in(other)
        other.post(reverse("mfa_authenticate"), {"code": code})
        entered.append(is_in(other))
    assert entered == [True, False]


def test_a_recovery_code_signs_in_once(lin: User, client: Client) -> None:
    sign_in(client)
    turn_codes_on(client)
    codes = client.get(reverse("mfa_view_recovery_codes")).context["unused_codes"]
    assert len(codes) == 10
    entered = []
    for _ in range(2):
        other = Client()
        sign_in(other)
        other.post(reverse("mfa_authenticate"), {"code": codes[0]})
        entered.append(is_in(other))
    assert entered == [True, False]


def test_the_picture_of_the_key_needs_nothing_that_the_policy_forbids(lin: User, client: Client) -> None:
    sign_in(client)
    client.post(client.get(reverse("mfa_activate_totp")).headers["Location"], {"password": PASSWORD})
    page = said(client.get(reverse("mfa_activate_totp")))
    drawing = page.split('role="img"')[1].split("</svg>")[0]
    assert drawing.count("h1v1h-1z") > 400
    assert "data:" not in page


def test_turning_codes_on_and_off_is_noted_and_told_by_mail(
    lin: User, post: list[Any], client: Client, django_capture_on_commit_callbacks: Any
) -> None:
    sign_in(client)
    with django_capture_on_commit_callbacks(execute=True):
        turn_codes_on(client)
    client.post(reverse("mfa_deactivate_totp"))
    told = Event.objects.filter(actor="lin", action__startswith="turned").order_by("pk")
    assert [event.action for event in told] == ["turned codes on", "turned codes off"]
    assert [message.to for message in post] == [["lin@example.org"]] * 2
    assert not lin.authenticator_set.exists()
