"""The one door through which a text becomes a revision. Nobody is overwritten: what cannot be joined is a ``Conflict``, and is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils import timezone

from diagnose.knowledge import Knowledge
from diagnose.knowledge.loader import Problem
from kb import documents, drafts, tasks, watching
from kb.documents import DocumentError, Prepared
from kb.merge import Merge, merge
from kb.models import Document, OldSlug, Revision
from kb.search import index

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@dataclass(frozen=True)
class Saved:
    """What a save did. ``revision`` is None where the text was the present one already."""

    document: Document
    revision: Revision | None
    merged: bool = False


class Conflict(Exception):
    """The same lines were changed since ``base``, or the joined text does not fit (``problems``).

    ``mine`` is kept as its author's draft; ``theirs`` is the present revision.
    """

    def __init__(
        self, base: Revision | None, theirs: Revision, mine: str, joined: Merge, problems: list[Problem]
    ) -> None:
        self.base, self.theirs, self.mine, self.joined, self.problems = base, theirs, mine, joined, problems
        super().__init__(f"{theirs.author_name} saved revision {theirs.number}")


@dataclass(frozen=True)
class _Edit:
    text: str
    base: int
    author: User | None
    why: str


def save(document: Document, text: str, base: int, author: User | None, why: str, knowledge: Knowledge) -> Saved:
    """Keeps ``text``, an edit that began from revision ``base``; raises ``DocumentError`` with every misfit, or ``Conflict``."""
    prepared = documents.prepare(document.kind, document.slug, text, knowledge)
    try:
        with transaction.atomic():
            row = Document.objects.select_for_update().get(pk=document.pk)
            return _save(row, prepared, _Edit(prepared.text, base, author, why), knowledge)
    except Conflict:
        if author:
            drafts.keep(author, prepared.text, base, document=document)
        raise


def create(
    kind: str,
    slug: str,
    text: str,
    author: User | None,
    why: str,
    knowledge: Knowledge,
    state: str = Document.PUBLISHED,
    author_name: str = "",
) -> Saved:
    """A new document; an empty ``slug`` is made from the title. Raises ``DocumentError`` with every misfit."""
    problems = documents.slug_problems(kind, slug, knowledge) if slug else []
    try:
        prepared = documents.prepare(kind, slug or "new", text, knowledge)
    except DocumentError as misfit:
        raise DocumentError(list(dict.fromkeys([*problems, *misfit.problems]))) from None
    slug = slug or documents.slug_for(kind, prepared.title, prepared.text)
    if not problems and author:
        before = Document.objects.filter(kind=kind, slug=slug, author=author, digest=prepared.digest).first()
        if before:  # the same form sent twice
            return Saved(before, None)
    if problems or taken(kind, slug):
        raise DocumentError(problems or [is_taken(kind, slug)])
    try:
        with transaction.atomic():
            row = Document(kind=kind, slug=slug, state=state, author=author)
            return _write(row, prepared, _Edit(prepared.text, 0, author, why), knowledge, author_name=author_name)
    except IntegrityError:  # somebody was a moment earlier
        raise DocumentError([is_taken(kind, slug)]) from None


def load(row: Document, text: str, why: str, author_name: str, knowledge: Knowledge) -> Saved:
    """A text that comes from files: replaces what ``row`` showed. Nothing happens where somebody saved in between."""
    prepared = documents.prepare(row.kind, row.slug, text, knowledge)
    with transaction.atomic():
        if row.pk:
            now = Document.objects.select_for_update().get(pk=row.pk)
            if now.digest != row.digest or now.state == Document.TRASH:
                return Saved(now, None)
            now.shipped_digest, row = row.shipped_digest, now
        edit = _Edit(prepared.text, row.revision, None, why)
        return _write(row, prepared, edit, knowledge, author_name=author_name)


def taken(kind: str, slug: str) -> bool:
    """Whether a document stands at this address, or once did: links to it must go on leading there."""
    same = {"kind": kind, "slug": slug}
    return Document.objects.filter(**same).exists() or OldSlug.objects.filter(**same).exists()


def is_taken(kind: str, slug: str) -> Problem:
    return Problem(f"{kind}/{slug}.md: slug", f"“{slug}” is taken: choose another address")


def _save(row: Document, prepared: Prepared, edit: _Edit, knowledge: Knowledge) -> Saved:
    if row.state == Document.TRASH:
        place = f"{row.kind}/{row.slug}.md"
        raise DocumentError([Problem(place, "lies in the trash by now: fetch it back, then save")])
    if prepared.digest == row.digest:
        drafts.forget(edit.author, row)
        return Saved(row, None)
    if edit.base == row.revision:
        return _write(row, prepared, edit, knowledge)
    joined = _join(row, edit, knowledge)
    if joined.digest == row.digest:
        drafts.forget(edit.author, row)
        return Saved(row, None)
    return _write(row, joined, edit, knowledge, merged=joined.text != edit.text)


def _join(row: Document, edit: _Edit, knowledge: Knowledge) -> Prepared:
    """The edit together with what was saved since its base, by whomever; raises ``Conflict``.

    One's own other window is another person here: nobody can tell a line that was left as it was from one that was meant to go.
    """
    theirs = row.revisions.get(number=row.revision)
    base = row.revisions.filter(number=edit.base).first()
    attempt = merge(base.text if base else "", edit.text, theirs.text)
    if attempt.regions:
        raise Conflict(base, theirs, edit.text, attempt, [])
    try:
        return documents.prepare(row.kind, row.slug, attempt.text(), knowledge)
    except DocumentError as misfit:
        raise Conflict(base, theirs, edit.text, attempt, misfit.problems) from None


def _write(
    row: Document, prepared: Prepared, edit: _Edit, knowledge: Knowledge, merged: bool = False, author_name: str = ""
) -> Saved:
    documents.fill(row, prepared, knowledge)
    row.revision += 1
    row.save()
    index.put(row)
    revision = Revision.objects.create(
        document=row,
        number=row.revision,
        base=edit.base,
        text=prepared.text,
        digest=prepared.digest,
        title=prepared.title,
        author=edit.author,
        author_name=author_name or name_of(edit.author),
        why=" ".join(edit.why.replace("\0", " ").split())[:300],
        merged=merged,
        made=timezone.now(),
    )
    drafts.forget(edit.author, row)
    watching.tell(row, edit.author, _told(revision))
    if row.revision == 1:
        drafts.forget(edit.author, None, row.kind, row.slug if row.kind == Document.NOTES else "")
        if edit.author:  # who wrote a page hears what others say of it
            watching.watch(row, edit.author)
    if row.kind == Document.CASES and edit.author:  # commands that write many wake the worker once
        transaction.on_commit(tasks.wake)
    return Saved(row, revision, merged)


def _told(revision: Revision) -> str:
    """What those who watch are told."""
    who = revision.author_name or "Somebody"
    return f"{who} saved revision {revision.number}" + (f": {revision.why}" if revision.why else "")


def name_of(user: User | None) -> str:
    """What a history calls somebody, for good: the account may go, the name stays."""
    return (user.get_full_name() or user.get_username())[:150] if user else ""
