"""What each page gives to the index."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction

from diagnose.knowledge import Knowledge
from diagnose.knowledge.record import Record
from kb.models import Document, Entry
from kb.search.names import CATALOGUE, names_of
from kb.search.tokens import document_tokens
from kb.sections import first_sentence


@dataclass(frozen=True)
class Page:
    """One page of the catalogue as it is found."""

    kind: str
    slug: str
    title: str
    summary: str
    text: str


def put(document: Document) -> None:
    """The entry of a document, made anew from what stands in it. Called within the transaction that saves it."""
    Entry.objects.update_or_create(
        document=document,
        defaults={
            "kind": document.kind,
            "slug": document.slug,
            "title": document.title,
            "summary": document.summary,
            "words": document_tokens(f"{document.title} {document.slug}", f"{document.summary}\n{document.text}"),
            "digest": document.digest,
        },
    )


def put_catalogue(knowledge: Knowledge) -> int:
    """The entries of the catalogue's pages, those of vanished records taken out; how many changed."""
    known = {(entry.kind, entry.slug): entry for entry in Entry.objects.filter(document=None).defer("words")}
    pages = [_entry(page) for page in _pages(knowledge)]
    gone = known.keys() - {(page.kind, page.slug) for page in pages}
    changed = [
        page for page in pages if (old := known.get((page.kind, page.slug))) is None or old.digest != page.digest
    ]
    with transaction.atomic():
        deleted, _ = Entry.objects.filter(pk__in=[known[name].pk for name in gone]).delete()
        Entry.objects.bulk_create(
            changed,
            batch_size=100,
            update_conflicts=True,
            unique_fields=["kind", "slug"],
            update_fields=["title", "summary", "words", "digest"],
        )
    return len(changed) + deleted


def _entry(page: Page) -> Entry:
    words = document_tokens(f"{page.title} {page.slug}", page.text)
    digest = hashlib.sha256(f"{page.title}\0{page.summary}\0{words}".encode()).hexdigest()[:16]
    return Entry(kind=page.kind, slug=page.slug, title=page.title, summary=page.summary, words=words, digest=digest)


def _pages(knowledge: Knowledge) -> Iterator[Page]:
    for kind in CATALOGUE:
        for slug, record in getattr(knowledge, kind).items():
            yield Page(
                kind, slug, record.title, first_sentence(record.body), f"{_named(record, knowledge)}\n{record.body}"
            )


def _named(record: Record, knowledge: Knowledge) -> str:
    """The names and keys that the page shows beside its text."""
    words = list(names_of(record, knowledge))
    words += [key.key for key in getattr(record, "keys", ())]
    words += [alias for key in getattr(record, "keys", ()) for alias in key.aliases]
    words += [literal for line in getattr(record, "literals", ()) for literal in line]
    if getattr(record, "strength", 1) > 1:  # a program's own lines: whoever pastes a part of one finds it
        words += [example.text for example in record.examples if example.matches]  # type: ignore[attr-defined]
    words += [word for word in (getattr(record, "package", ""), getattr(record, "symptom", "")) if word]
    return "\n".join(words)
