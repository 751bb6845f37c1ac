"""The audit log: who did what, when. Written in the same transaction as the deed, never changed, never with a secret in it."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING

from django.db.models import Q, QuerySet
from django.utils import timezone

from kb.models import Document, Event

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

COMMAND_LINE = "(command line)"  # no name of a person: names have neither blanks nor brackets
ACTIONS = (
    "signed in",
    "sign-in failed",
    "signed out",
    "joined",
    "invited",
    "took back an invitation",
    "made a sign-in link",
    "changed a role",
    "deactivated",
    "activated again",
    "changed an e-mail address",
    "changed a password",
    "turned codes on",
    "turned codes off",
    "made recovery codes",
    "connected single sign-on",
    "disconnected single sign-on",
    "made a token",
    "revoked a token",
    "imported",
    "exported",
    "backed up",
    "published",
    "unpublished",
    "reviewed",
    "renamed",
    "deleted",
    "restored",
    "purged",
)

OF_DOCUMENTS = ("published", "unpublished", "reviewed", "renamed", "deleted", "restored")


def note(actor: AbstractBaseUser | AnonymousUser | str | None, action: str, what: str = "", detail: str = "") -> Event:
    """Writes one line. ``action`` is a word of ``ACTIONS``; ``what`` names the thing, ``detail`` says the rest."""
    if action not in ACTIONS:
        raise ValueError(f"“{action}” is no word of kb.audit.ACTIONS")
    name = actor if isinstance(actor, str) else actor.get_username() if actor else ""
    return Event.objects.create(actor=name[:150], action=action, what=what[:200], detail=detail[:2000])


def find(action: str = "", who: str = "", since: date | None = None, until: date | None = None) -> QuerySet[Event]:
    """Lines of one action, by or about somebody, between two days."""
    events = Event.objects.all()
    if action:
        events = events.filter(action=action)
    if who:
        events = events.filter(Q(actor__icontains=who) | Q(what__icontains=who))
    if since:
        events = events.filter(at__gte=_begin(since))
    if until:
        events = events.filter(at__lt=_begin(until) + timedelta(days=1))
    return events


def of_document(document: Document) -> QuerySet[Event]:
    """What became of a document beside its words, under every address that it had."""
    slugs = [document.slug, *document.old_slugs.values_list("slug", flat=True)]
    names = [f"{document.kind}/{slug}" for slug in slugs]
    return Event.objects.filter(what__in=names, action__in=OF_DOCUMENTS, at__gte=document.made)


def _begin(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
