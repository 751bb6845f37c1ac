"""Members, roles, invitations, ways in: what nobody may do comes first."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from kb import links, people, tokens
from kb.models import Event, Member, OneTimeLink, Role, Token, role_of
from tests.kb.world import member

pytestmark = pytest.mark.django_db
PASSWORD = "correct-horse-9"


def fresh(user: User) -> User:
    return User.objects.get(pk=user.pk)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def join_fields(**more: str) -> dict[str, str]:
    return {"username": "mei", "email": "", "password1": PASSWORD, "password2": PASSWORD, **more}


def join(token: str, client: Client | None = None, **more: str) -> Any:
    return (client or Client()).post(reverse("kb:join", args=[token]), join_fields(**more))


@pytest.mark.parametrize("by", [Role.READER, Role.EDITOR, Role.REVIEWER])
def test_nobody_gives_a_role_above_their_own(by: Role) -> None:
    with pytest.raises(people.Refused):
        people.change_role(member(by), member(Role.READER, "mei"), Role.ADMIN)
    assert Event.objects.count() == 0


def test_nobody_takes_a_role_above_their_own() -> None:
    admin = member(Role.ADMIN)
    with pytest.raises(people.Refused):
        people.change_role(member(Role.REVIEWER), admin, Role.READER)
    with pytest.raises(people.Refused):
        people.set_active(member(Role.EDITOR), admin, active=False)
    assert role_of(fresh(admin)) == Role.ADMIN


def test_the_last_admin_is_neither_demoted_nor_deactivated() -> None:
    admin = member(Role.ADMIN)
    with pytest.raises(people.Refused, match="last admin"):
        people.change_role(admin, admin, Role.READER)
    with pytest.raises(people.Refused, match="last admin"):
        people.set_active(admin, admin, active=False)
    assert role_of(fresh(admin)) == Role.ADMIN


def test_a_deactivated_admin_does_not_count_as_another_one() -> None:
    admin, other = member(Role.ADMIN), member(Role.ADMIN, "other")
    people.set_active(admin, other, active=False)
    with pytest.raises(people.Refused, match="last admin"):
        people.change_role(admin, admin, Role.EDITOR)


def test_a_superuser_counts_as_an_admin_and_can_be_made_less() -> None:
    root = User.objects.create_superuser("root", password=PASSWORD)
    admin = member(Role.ADMIN)
    people.change_role(admin, root, Role.EDITOR)
    assert role_of(fresh(root)) == Role.EDITOR
    with pytest.raises(people.Refused, match="last admin"):
        people.change_role(admin, admin, Role.EDITOR)


def test_a_role_of_nobody_is_not_given_by_the_page() -> None:
    admin, mei = member(Role.ADMIN), member(Role.READER, "mei")
    for role in ("0", "5", "", "admin"):
        signed_in(admin).post(reverse("kb:member_role", args=[mei.pk]), {"role": role})
    assert role_of(fresh(mei)) == Role.READER


def test_the_form_of_one_page_changes_no_other_field() -> None:
    admin, mei = member(Role.ADMIN), member(Role.READER, "mei")
    more = {"is_superuser": "1", "is_active": "", "username": "eve"}
    signed_in(admin).post(reverse("kb:member_role", args=[mei.pk]), {"role": "2", **more})
    signed_in(mei).post(reverse("kb:me"), {"mail": "on", "role": "4", **more})
    signed_in(mei).post(reverse("kb:email"), {"email": "mei@example.org", "role": "4", **more})
    now = fresh(mei)
    assert (now.username, now.is_superuser, now.is_active, role_of(now)) == ("mei", False, True, Role.EDITOR)


def test_whoever_is_deactivated_is_out_at_once_and_loses_every_token() -> None:
    admin, mei = member(Role.ADMIN), member(Role.EDITOR, "mei")
    browser = signed_in(mei)
    tokens.make(mei, "nightly", ["read"], 30)
    people.set_active(admin, mei, active=False)
    assert browser.get(reverse("kb:me")).status_code == 302
    assert not Token.objects.exists()
    assert [event.action for event in Event.objects.all()] == ["deactivated"]


def test_a_new_role_holds_from_the_next_page_on_and_is_noted() -> None:
    admin, mei = member(Role.ADMIN), member(Role.ADMIN, "mei")
    browser = signed_in(mei)
    assert browser.get(reverse("kb:audit")).status_code == 200
    signed_in(admin).post(reverse("kb:member_role", args=[mei.pk]), {"role": "1"})
    assert browser.get(reverse("kb:audit")).status_code == 403
    event = Event.objects.get()
    assert (event.actor, event.action, event.what, event.detail) == ("admin", "changed a role", "mei", "admin → reader")


@pytest.mark.parametrize("token", ["", "worn", "worn:signature", "a" * 300])
def test_a_made_up_link_does_not_hold(token: str) -> None:
    assert links.find(token) is None


def test_a_link_does_not_hold_after_its_time() -> None:
    token = links.make(Role.EDITOR, timedelta(seconds=-1))
    OneTimeLink.objects.filter().update(expires=timezone.now())
    assert links.find(token) is None


@pytest.mark.parametrize("change", ["demoted", "deactivated"])
def test_an_invitation_holds_only_while_its_maker_could_make_it(change: str) -> None:
    maker, other = member(Role.ADMIN), member(Role.ADMIN, "other")
    token = links.make(Role.ADMIN, links.INVITATION_LIFETIME, made_by=maker)
    if change == "demoted":
        people.change_role(other, maker, Role.EDITOR)
    else:
        people.set_active(other, maker, active=False)
    assert join(token).status_code == 404
    assert links.invitations() == []
    assert not User.objects.filter(username="mei").exists()


def test_an_invitation_that_was_taken_back_does_not_hold() -> None:
    admin = member(Role.ADMIN)
    token = links.make(Role.EDITOR, links.INVITATION_LIFETIME, made_by=admin)
    signed_in(admin).post(reverse("kb:invitation_revoke", args=[OneTimeLink.objects.get().pk]))
    assert join(token).status_code == 404
    assert Event.objects.get().action == "took back an invitation"


def test_a_way_in_is_not_listed_and_not_taken_back_among_invitations() -> None:
    admin = member(Role.ADMIN)
    links.make(Role.READER, links.WAY_IN_LIFETIME, user=member(Role.READER))
    assert links.invitations() == []
    way_in = OneTimeLink.objects.get()
    assert signed_in(admin).post(reverse("kb:invitation_revoke", args=[way_in.pk])).status_code == 404


def test_an_invitation_works_once() -> None:
    token = links.make(Role.EDITOR, links.INVITATION_LIFETIME)
    assert join(token).status_code == 302
    assert join(token, username="eve").status_code == 404
    assert User.objects.get().username == "mei"


def test_a_visit_does_not_spend_a_link() -> None:
    token = links.make(Role.EDITOR, links.INVITATION_LIFETIME)
    way_in = links.make(Role.READER, links.WAY_IN_LIFETIME, user=member(Role.READER))
    for _ in range(2):
        assert Client().get(reverse("kb:join", args=[token])).status_code == 200
        assert Client().get(reverse("kb:way_in", args=[way_in])).status_code == 200


@pytest.mark.parametrize(
    "fields",
    [
        {"password2": "another-horse-9"},
        {"password1": "password", "password2": "password"},
        {"username": "m e i"},
        {"username": "(command line)"},
        {"username": "READER"},
        {"email": "no address"},
    ],
)
def test_a_misfit_is_shown_and_the_invitation_stays_open(fields: dict[str, str]) -> None:
    member(Role.READER)
    token = links.make(Role.EDITOR, links.INVITATION_LIFETIME)
    response = join(token, **fields)
    assert response.status_code == 200
    assert 'aria-invalid="true"' in response.content.decode()
    assert links.find(token)
    assert User.objects.count() == 1


def test_what_is_wrong_with_a_password_stands_at_the_password() -> None:
    page = join(links.make(Role.EDITOR, links.INVITATION_LIFETIME), password1="password", password2="password")
    assert list(page.context["form"].errors) == ["password1"]


def test_the_form_of_the_next_invitation_keeps_the_role_of_the_last() -> None:
    page = signed_in(member(Role.ADMIN)).post(reverse("kb:invitations"), {"role": "3"}).content.decode()
    assert '<option value="3" selected>' in page


def test_an_invitation_gives_its_role_and_no_other() -> None:
    token = links.make(Role.EDITOR, links.INVITATION_LIFETIME)
    browser = Client()
    join(token, browser, role="4", is_superuser="1", is_staff="1")
    mei = User.objects.get()
    assert role_of(mei) == Role.EDITOR
    assert not mei.is_superuser
    assert browser.get(reverse("kb:me")).status_code == 200


def test_the_address_of_an_invitation_stands_in_the_form() -> None:
    token = links.make(Role.EDITOR, links.INVITATION_LIFETIME, email="mei@example.org")
    assert 'value="mei@example.org"' in Client().get(reverse("kb:join", args=[token])).content.decode()


def test_what_each_role_may_is_told_where_roles_are_given() -> None:
    client = signed_in(member(Role.ADMIN))
    for name in ("members", "invitations"):
        assert "an editor also writes and publishes" in client.get(reverse(f"kb:{name}")).content.decode()


def test_an_admin_makes_an_invitation_that_is_shown_once_and_listed() -> None:
    browser = signed_in(member(Role.ADMIN))
    page = browser.post(reverse("kb:invitations"), {"role": "3", "email": "mei@example.org"})
    token = urlsplit(page.context["link"]).path.split("/")[2]
    assert page.context["link"] in page.content.decode()
    assert token not in browser.get(reverse("kb:invitations")).content.decode()
    assert [link.email for link in links.invitations()] == ["mei@example.org"]
    assert links.find(token)
    assert Event.objects.get().action == "invited"


def test_the_database_holds_no_link_in_the_clear() -> None:
    token = links.make(Role.EDITOR, links.INVITATION_LIFETIME)
    assert OneTimeLink.objects.get().digest not in token
    assert token not in str(OneTimeLink.objects.values().get())


def test_no_way_in_is_made_for_somebody_unknown_or_deactivated() -> None:
    with pytest.raises(CommandError, match="Nobody here is called"):
        call_command("sign_in_link", "nobody")
    mei = member(Role.READER, "mei")
    User.objects.filter(pk=mei.pk).update(is_active=False)
    with pytest.raises(CommandError, match="deactivated"):
        call_command("sign_in_link", "mei")
    assert not OneTimeLink.objects.exists()


def printed_way_in(name: str) -> str:
    out = StringIO()
    call_command("sign_in_link", name, stdout=out)
    return urlsplit(out.getvalue().split()[-1]).path


def test_a_way_in_from_the_command_line_signs_that_person_in_once() -> None:
    mei = member(Role.REVIEWER, "mei")
    path = printed_way_in("mei")
    browser, late = Client(), Client()
    assert browser.post(path).status_code == 302
    assert browser.session["_auth_user_id"] == str(mei.pk)
    assert late.post(path).status_code == 404
    lines = Event.objects.order_by("pk").values_list("actor", "action", "what")
    assert list(lines) == [("(command line)", "made a sign-in link", "mei"), ("mei", "signed in", "")]


def test_a_way_in_ends_after_a_quarter_of_an_hour_and_with_the_person() -> None:
    mei = member(Role.REVIEWER, "mei")
    path = printed_way_in("mei")
    link = OneTimeLink.objects.get()
    assert timedelta(minutes=14) < link.expires - timezone.now() <= timedelta(minutes=15)
    User.objects.filter(pk=mei.pk).update(is_active=False)
    assert Client().post(path).status_code == 404


def test_the_printed_link_makes_the_first_admin_and_the_one_before_stops_working(capsys: Any) -> None:
    tokens_printed = []
    for _ in range(2):
        call_command("admin_link")
        tokens_printed.append(urlsplit(capsys.readouterr().out.split()[-1]).path)
    first, second = (Client().post(path, join_fields()) for path in tokens_printed)
    assert (first.status_code, second.status_code) == (404, 302)
    assert role_of(User.objects.get()) == Role.ADMIN
    assert links.admin_exists()


@pytest.mark.parametrize("command", [["admin_link"], ["sign_in_link", "mei"]])
def test_a_printed_link_begins_with_the_address_that_people_reach_the_site_at(
    command: list[str], settings: Any, capsys: Any
) -> None:
    """Nobody reaches 127.0.0.1 of a container, and over plain HTTP no cookie of a site behind HTTPS comes back."""
    settings.SITE_URL = "https://headroom.example.org"
    member(Role.REVIEWER, "mei")
    call_command(*command)
    assert ": https://headroom.example.org/" in capsys.readouterr().out


def test_another_address_is_asked_for_with_the_password() -> None:
    lin = User.objects.create_user("lin", "lin@example.org", PASSWORD)
    Member.objects.create(user=lin, role=Role.READER)
    browser = signed_in(lin)
    asked = browser.post(reverse("kb:email"), {"email": "eve@example.org"})
    assert asked.headers["Location"].startswith(reverse("account_reauthenticate"))
    assert fresh(lin).email == "lin@example.org"
    browser.post(asked.headers["Location"], {"password": PASSWORD})
    assert fresh(lin).email == "eve@example.org"
    assert Event.objects.filter(action="changed an e-mail address", actor="lin").count() == 1


def test_the_audit_log_is_narrowed_by_action_person_and_day_and_comes_in_pages() -> None:
    admin = member(Role.ADMIN)
    for number in range(60):
        Event.objects.create(actor=f"m{number}", action="signed in")
    Event.objects.create(actor="mei", action="exported", what="<script>alert(1)</script>")
    browser = signed_in(admin)

    def lines(**query: str) -> int:
        return int(browser.get(reverse("kb:audit"), query).context["page"].paginator.count)

    assert lines() == 61
    assert lines(action="exported") == 1
    assert lines(who="MEI") == 1
    assert lines(since="2100-01-01") == 0
    assert lines(until=timezone.now().date().isoformat()) == 61
    assert len(browser.get(reverse("kb:audit"), {"page": "2"}).context["page"].object_list) == 11
    assert "<script>alert" not in browser.get(reverse("kb:audit")).content.decode()
    assert browser.get(reverse("kb:audit"), {"action": "nonsense", "since": "x", "page": "x"}).status_code == 200
