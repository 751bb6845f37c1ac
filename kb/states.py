"""From draft to page to trash and back, what a reviewer confirmed, and a new address. Each step locks its row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction

from diagnose.knowledge import Knowledge
from diagnose.knowledge.loader import Problem
from kb import attachments, audit, documents, saving
from kb.documents import DocumentError
from kb.models import Document, OldSlug
from kb.search import index

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def publish(document: Document, user: User) -> None:
    """A draft becomes a page that everybody who may read sees."""
    _move(document, Document.PUBLISHED, user, "published")


def unpublish(document: Document, user: User) -> None:
    """A page becomes a draft again, which its author and the reviewers see."""
    _move(document, Document.DRAFT, user, "unpublished")


def delete(document: Document, user: User) -> None:
    """Into the trash; whoever put it there sees it there."""
    with transaction.atomic():
        row = Document.objects.select_for_update().get(pk=document.pk)
        if row.state == Document.TRASH:
            return
        row.state_before, row.state, row.deleted_by = row.state, Document.TRASH, user
        row.save(update_fields=["state", "state_before", "deleted_by", "updated"])
        audit.note(user, "deleted", _name(row), f"“{row.title}”, into the trash")


def fetch_back(document: Document, user: User) -> None:
    """Out of the trash, to what it was before."""
    with transaction.atomic():
        row = Document.objects.select_for_update().get(pk=document.pk)
        if row.state != Document.TRASH:
            return
        row.state, row.state_before, row.deleted_by = row.state_before or Document.PUBLISHED, "", None
        row.save(update_fields=["state", "state_before", "deleted_by", "updated"])
        audit.note(user, "restored", _name(row), f"“{row.title}”, out of the trash")


def purge(document: Document, user: User) -> None:
    """Gone with its history and its files, from the trash alone."""
    with transaction.atomic():
        row = Document.objects.select_for_update().get(pk=document.pk)
        if row.state == Document.TRASH:
            audit.note(user, "purged", _name(row), f"“{row.title}”, {row.revision} revisions")
            for attachment in row.attachments.all():
                attachments.forget(attachment)
            row.delete()


def review(document: Document, number: int, user: User) -> bool:
    """A reviewer confirms revision ``number``; False when it is no longer the present one."""
    with transaction.atomic():
        rows = Document.objects.filter(pk=document.pk, revision=number).exclude(state=Document.TRASH)
        if done := bool(rows.update(reviewed=number)):
            audit.note(user, "reviewed", _name(document), f"revision {number}")
        return done


def rename(document: Document, slug: str, user: User | None, knowledge: Knowledge) -> None:
    """A new address; the old one leads there for good. Raises ``DocumentError`` where it cannot be had."""
    problems = documents.slug_problems(document.kind, slug, knowledge)
    if document.kind == Document.NOTES:
        problems = [Problem(f"notes/{document.slug}.md: slug", "a note stays on its page")]
    if problems:
        raise DocumentError(problems)
    try:
        with transaction.atomic():
            row = Document.objects.select_for_update().get(pk=document.pk)
            if slug == row.slug:
                return
            row.old_slugs.filter(slug=slug).delete()  # back to an address that it had
            if saving.taken(row.kind, slug):
                raise DocumentError([saving.is_taken(row.kind, slug)])
            OldSlug.objects.create(kind=row.kind, slug=row.slug, document=row)
            before, row.slug = _name(row), slug
            row.save(update_fields=["slug", "updated"])
            index.put(row)
            audit.note(user, "renamed", _name(row), f"“{row.title}”, before: {before}")
    except IntegrityError:  # somebody was a moment earlier
        raise DocumentError([saving.is_taken(document.kind, slug)]) from None
    document.slug = slug


def _move(document: Document, after: str, user: User, action: str) -> None:
    with transaction.atomic():
        row = Document.objects.select_for_update().get(pk=document.pk)
        if row.state in (after, Document.TRASH):
            return
        row.state = after
        row.save(update_fields=["state", "updated"])
        audit.note(user, action, _name(row), f"“{row.title}”")


def _name(document: Document) -> str:
    return f"{document.kind}/{document.slug}"
