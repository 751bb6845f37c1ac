"""Who watches a page, and what they are told: in the site at once, by e-mail through the worker."""

from __future__ import annotations

import logging
from smtplib import SMTPException
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from kb import notes
from kb.models import Document, Notice, Watch

if TYPE_CHECKING:
    from django.contrib.auth.models import User

MOST_TRIES = 5  # then a notice stays in the site alone, with the reason
MAILED_AT_ONCE = 100
log = logging.getLogger(__name__)


def watch(document: Document, user: User) -> None:
    Watch.objects.get_or_create(user=user, document=document)


def unwatch(document: Document, user: User) -> None:
    Watch.objects.filter(user=user, document=document).delete()


def tell(document: Document, actor: User | None, words: str) -> int:
    """A notice for each who watches the page, may still see it and did not do it themselves; how many. The worker mails them later."""
    watches = document.watches.select_related("user__member").filter(user__is_active=True)
    told = [
        Notice(user=watch.user, document=document, words=words[:300])
        for watch in watches
        if (actor is None or watch.user_id != actor.pk)
        and Document.objects.visible_to(watch.user).filter(pk=document.pk).exists()
    ]
    Notice.objects.bulk_create(told)
    return len(told)


def notices_of(user: User) -> QuerySet[Notice]:
    """What ``user`` was told of pages that they may see now."""
    return (
        Notice.objects.filter(user=user, document__in=Document.objects.visible_to(user))
        .select_related("document")
        .order_by("-pk")
    )


def read_all(user: User) -> None:
    Notice.objects.filter(user=user, read=None).update(read=timezone.now())


def unmailed() -> QuerySet[Notice]:
    """The work list of the mail task: not read, not mailed, not given up, for people who want mail and have an address."""
    wanted = Q(user__member__mail=True) & Q(user__is_active=True) & ~Q(user__email="")
    return Notice.objects.filter(wanted, mailed=None, read=None, tries__lt=MOST_TRIES).order_by("pk")


def mail(site: str) -> int:
    """Sends what is to be mailed, each notice on its own; how many went out. ``site`` is the address that links begin with."""
    if not settings.HAS_MAIL:
        return 0
    sent = 0
    for pk in unmailed().values_list("pk", flat=True)[:MAILED_AT_ONCE]:
        with transaction.atomic():
            notice = Notice.objects.select_for_update(skip_locked=_can_skip(), of=("self",)).filter(pk=pk, mailed=None)
            found = notice.select_related("document", "user").first()
            sent += found is not None and _send(found, site)
    return sent


def _send(notice: Notice, site: str) -> bool:
    if not Document.objects.visible_to(notice.user).filter(pk=notice.document_id).exists():
        notice.delete()
        return False
    home = site.rstrip("/")
    address, me = home + notes.address(notice.document), home + reverse("kb:me")
    context = {"notice": notice, "address": address, "title": notice.document.title, "me": me}
    body = render_to_string("kb/notice_mail.txt", context)
    subject = " ".join(f"{notice.words}: {notice.document.title}".split())  # a line break would end the header
    try:
        EmailMessage(subject[:200], body, settings.DEFAULT_FROM_EMAIL, [notice.user.email]).send()
    except (OSError, SMTPException) as misfit:
        log.warning("notice %s was not mailed: %s", notice.pk, type(misfit).__name__)
        Notice.objects.filter(pk=notice.pk).update(tries=F("tries") + 1, why=f"{type(misfit).__name__}: {misfit}"[:500])
        return False
    Notice.objects.filter(pk=notice.pk).update(mailed=timezone.now())
    return True


def _can_skip() -> bool:
    from django.db import connection

    return connection.features.has_select_for_update_skip_locked
