"""The search index: one row for each thing that can be found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import connection, models
from django.db.models import Q
from django.db.models.expressions import RawSQL

from kb.models.document import Document, may_read, visible

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

_SQLITE = "SELECT rowid FROM kb_words WHERE kb_words MATCH %s"
_POSTGRES = "SELECT id FROM kb_entry WHERE vector @@ %s::tsquery"


class EntryQuerySet(models.QuerySet["Entry"]):
    """Every search and every suggestion begins with ``visible_to``."""

    def visible_to(self, user: AbstractBaseUser | AnonymousUser | None) -> EntryQuerySet:
        """What this viewer may find: the documents that they may see, without the trash, and the catalogue."""
        if not may_read(user):
            return self.none()
        return self.filter(Q(document=None) | visible(user, "document__")).exclude(document__state=Document.TRASH)

    def having(self, tokens: tuple[tuple[str, bool], ...]) -> EntryQuerySet:
        """Pages that have every token; the flag beside a token says that its beginning is enough."""
        if connection.vendor == "postgresql":
            quoted = (f"'{_without_quotes(token)}'{':*' if open else ''}" for token, open in tokens)
            return self.filter(pk__in=RawSQL(_POSTGRES, [" & ".join(quoted)]))
        quoted = (f'"{_without_quotes(token)}"{" *" if open else ""}' for token, open in tokens)
        return self.filter(pk__in=RawSQL(_SQLITE, [" AND ".join(quoted)]))


class Entry(models.Model):
    """One page as search knows it. ``document`` is empty for a page of the catalogue, which everybody who may read may find.

    ``kind`` is the folder's name (cases, guides, levers, signatures …), ``words`` the tokens of ``kb.search.tokens``, each once.
    A migration makes the full-text index over ``words`` and has the database itself keep it: GIN on PostgreSQL, FTS5 on SQLite.
    """

    kind = models.CharField(max_length=20)
    slug = models.CharField(max_length=120)
    title = models.CharField(max_length=300)
    summary = models.TextField(blank=True)
    words = models.TextField(blank=True)
    digest = models.CharField(max_length=16)
    document = models.OneToOneField(Document, on_delete=models.CASCADE, null=True, related_name="entry")

    objects = EntryQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "slug"], name="one_entry_per_page")]

    def __str__(self) -> str:
        return f"{self.kind}/{self.slug}"


def _without_quotes(token: str) -> str:
    """A token holds letters, digits and . - / + : _ alone; nothing else may reach the query language."""
    return "".join(letter for letter in token if letter.isalnum() or letter in "._-/+:")
