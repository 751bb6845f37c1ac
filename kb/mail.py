"""Outgoing mail. The worker sends it, so that no answer of the site takes longer when an address is known."""

from __future__ import annotations

from django.core.mail import EmailMessage
from kombu.exceptions import KombuError


def send(message: EmailMessage) -> None:
    """Hands a message to the worker; sends it at once where no broker answers."""
    from kb.tasks import deliver

    try:
        deliver.delay(message.subject, message.body, message.from_email, message.to)
    except (KombuError, OSError):
        message.send()
