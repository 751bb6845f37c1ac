"""The search index: one row for each thing that can be found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import connection, models
from django.db.models import Q
from django.db.models.expressions import RawSQL

from kb.models.document import Document, may_read, visible
from kb.search.tokens import All, Clause

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

_SQLITE = "SELECT rowid FROM kb_words WHERE kb_words MATCH %s"
_POSTGRES = "SELECT id FROM kb_entry WHERE vector @@ %s::tsquery"

# How each quotes a token, marks a beginning, and says and and or.
_SQLITE_WORDS = ('"{}"', " *", " AND ", " OR ")
_POSTGRES_WORDS = ("'{}'", ":*", " & ", " | ")


class EntryQuerySet(models.QuerySet["Entry"]):
    """Every search and every suggestion begins with ``visible_to``."""

    def visible_to(self, user: AbstractBaseUser | AnonymousUser | None) -> EntryQuerySet:
        """What this viewer may find: the documents that they may see, without the trash, and the catalogue."""
        if not may_read(user):
            return self.none()
        return self.filter(Q(document=None) | visible(user, "document__")).exclude(document__state=Document.TRASH)

    def having(self, clauses: tuple[Clause, ...]) -> EntryQuerySet:
        """Pages that meet every clause: that have all tokens of one of its ways."""
        return self.having_any((clauses,))

    def having_any(self, choices: tuple[tuple[Clause, ...], ...]) -> EntryQuerySet:
        """Pages that meet every clause of one of these choices."""
        if connection.vendor == "postgresql":
            return self.filter(pk__in=RawSQL(_POSTGRES, [_asked(choices, *_POSTGRES_WORDS)]))
        return self.filter(pk__in=RawSQL(_SQLITE, [_asked(choices, *_SQLITE_WORDS)]))

    def with_has(self, clauses: tuple[Clause, ...]) -> EntryQuerySet:
        """Adds ``has``: whether the page meets every clause, looked up page by page. For few pages: the index is not asked."""
        if connection.vendor == "postgresql":
            has = RawSQL(
                "kb_entry.vector @@ %s::tsquery", [_asked((clauses,), *_POSTGRES_WORDS)], models.BooleanField()
            )
        else:
            has = RawSQL(f"kb_entry.id IN ({_SQLITE})", [_asked((clauses,), *_SQLITE_WORDS)], models.BooleanField())
        return self.annotate(has=has)


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


def _asked(choices: tuple[tuple[Clause, ...], ...], quoted: str, begins: str, both: str, either: str) -> str:
    """The clauses in a database's own words."""

    def way(needs: All) -> str:
        return both.join(quoted.format(_without_quotes(token)) + (begins if open else "") for token, open in needs)

    def clause(ways: Clause) -> str:
        return "(" + either.join(f"({way(needs)})" for needs in ways) + ")"

    return either.join("(" + both.join(map(clause, clauses)) + ")" for clauses in choices)


def _without_quotes(token: str) -> str:
    """A token holds letters, digits and . - / + : _ alone; nothing else may reach the query language."""
    return "".join(letter for letter in token if letter.isalnum() or letter in "._-/+:")
