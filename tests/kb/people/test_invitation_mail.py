"""Invitations by mail, where the site has mail and somebody gave an address; else the link is shown."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.urls import reverse

from kb import links, mail
from kb.models import Role
from tests.kb.people.test_members import signed_in
from tests.kb.world import member

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def without_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "send", EmailMessage.send)


def invited(admin: User, **data: str) -> str:
    return signed_in(admin).post(reverse("kb:invitations"), {"role": "2", **data}).content.decode()


def test_an_invitation_is_mailed_and_its_link_not_shown(settings: Any, mailoutbox: list[Any]) -> None:
    settings.HAS_MAIL, settings.SITE_URL = True, "https://wiki.example"
    page = invited(member(Role.ADMIN, "ida\nBcc: eve@example.org"), email="mei@example.org")
    message = mailoutbox[0]
    assert (message.to, message.subject) == (["mei@example.org"], "ida Bcc: eve@example.org invites you to Headroom")
    link = next(line for line in message.body.splitlines() if line.startswith("https://wiki.example/join/"))
    assert links.invitation(link.rstrip("/").rpartition("/")[2]).email == "mei@example.org"  # type: ignore[union-attr]
    assert "/join/" not in page
    assert "Mailed to mei@example.org." in page


@pytest.mark.parametrize(("has_mail", "email"), [(False, "mei@example.org"), (True, "")])
def test_without_mail_or_address_the_link_is_shown(
    settings: Any, mailoutbox: list[Any], has_mail: bool, email: str
) -> None:
    settings.HAS_MAIL = has_mail
    assert "/join/" in invited(member(Role.ADMIN), email=email)
    assert mailoutbox == []


def test_an_invitation_that_no_server_takes_is_shown(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(message: object) -> None:
        raise ConnectionRefusedError

    settings.HAS_MAIL = True
    monkeypatch.setattr(mail, "send", refuse)
    assert "/join/" in invited(member(Role.ADMIN), email="mei@example.org")
