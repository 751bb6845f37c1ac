"""Outgoing mail. The worker sends it, so that no answer of the site takes longer when an address is known."""

from __future__ import annotations

import logging
from datetime import datetime
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import EmailMessage
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from kombu.exceptions import KombuError

log = logging.getLogger(__name__)


def site(request: HttpRequest) -> str:
    """Where links in mails begin: the address that was set; the host that a request names may be a stranger's choice."""
    return settings.SITE_URL if settings.HAS_SITE_URL else f"{request.scheme}://{request.get_host()}"


def send(message: EmailMessage) -> None:
    """Hands a message to the worker; sends it at once where no broker answers."""
    from kb.tasks import deliver

    try:
        deliver.delay(message.subject, message.body, message.from_email, message.to)
    except (KombuError, OSError):
        message.send()


def invite(address: str, token: str, by: str, role: str, until: datetime) -> bool:
    """Mails the link of an invitation; False where this site sends no mail or the server does not take it."""
    if not (settings.HAS_MAIL and address):
        return False
    link = settings.SITE_URL.rstrip("/") + reverse("kb:join", args=[token])
    body = render_to_string("kb/invitation_mail.txt", {"by": by, "role": role, "link": link, "until": until})
    subject = " ".join(f"{by} invites you to Headroom".split())  # a line break would end the header
    try:
        send(EmailMessage(subject, body, settings.DEFAULT_FROM_EMAIL, [address]))
    except (OSError, SMTPException) as misfit:
        log.warning("an invitation was not mailed: %s", type(misfit).__name__)
        return False
    return True
