"""What the Celery worker does. A message only wakes it: the work list is the database, and the beat repairs what was lost."""

from __future__ import annotations

from celery import shared_task  # type: ignore[import-untyped]
from django.conf import settings
from django.core.mail import EmailMessage
from kombu.exceptions import KombuError

from kb import estimates, watching
from kb.models import Refresh


@shared_task  # type: ignore[untyped-decorator]
def refresh_estimates(run: int | None = None) -> None:
    """Makes stored estimates anew for some seconds; what is then left is the next message's."""
    begun = Refresh.objects.filter(pk=run).first() if run else None
    if left := estimates.refresh(begun, longest=estimates.LONGEST):
        wake(left)


@shared_task(autoretry_for=(OSError,), retry_backoff=30, max_retries=6)  # type: ignore[untyped-decorator]
def deliver(subject: str, body: str, sender: str, to: list[str]) -> None:
    """Sends one mail; tries again for half an hour when the server does not take it."""
    EmailMessage(subject, body, sender, to).send()


@shared_task  # type: ignore[untyped-decorator]
def mail_notices() -> int:
    """Mails what people were told and did not read yet; how many went out. What fails is tried again by the next beat."""
    return watching.mail(settings.SITE_URL)


def wake(run: Refresh | None = None) -> bool:
    """Asks a worker to look at the work list, or to go on with a run; False when the broker does not answer."""
    try:
        refresh_estimates.delay(*([run.pk] if run else []))
    except (KombuError, OSError):
        return False
    return True
