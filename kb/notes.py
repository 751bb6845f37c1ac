"""A team's note on a page of the catalogue: plain Markdown, kept under the record's address (``levers/batch.micro.down``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse

from diagnose.knowledge import Knowledge
from diagnose.knowledge.record import Record
from kb.models import Document

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

PAGES = {
    "levers": "lever",
    "advisories": "advisory",
    "signatures": "error",
    "frameworks": "framework",
    "gpus": "gpu",
    "models": "model",
    "datasets": "dataset",
    "logs": "log",
}
FOLDERS = {name: folder for folder, name in PAGES.items()}


def subject(slug: str, knowledge: Knowledge) -> Record | None:
    """The record that a note is about; None where the catalogue has none."""
    folder, _, name = slug.partition("/")
    records: dict[str, Record] = getattr(knowledge, folder) if folder in PAGES else {}
    return records.get(name)


def on(slug: str, user: AbstractBaseUser | AnonymousUser) -> Document | None:
    """The note on a page of the catalogue, where there is one that ``user`` may see."""
    rows = Document.objects.visible_to(user).exclude(state=Document.TRASH)
    return rows.at(Document.NOTES, slug)


def address(document: Document) -> str:
    """Where a document is read; a note stands on the page that it is about."""
    if document.kind == Document.NOTES:
        folder, _, name = document.slug.partition("/")
        return reverse(f"kb:{PAGES[folder]}", args=[name]) + "#team-note"
    return reverse({Document.CASES: "kb:case", Document.GUIDES: "kb:guide"}[document.kind], args=[document.slug])
