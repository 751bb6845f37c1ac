"""The search index: one row for each thing that can be found."""

from __future__ import annotations

from django.db import models

from kb.models.document import Document


class Entry(models.Model):
    """One page as search knows it. ``document`` is empty for a page of the catalogue, which everybody who may read may find.

    ``kind`` is the folder's name (cases, guides, levers, signatures …), ``words`` the tokens of ``kb.search`` in order.
    The full-text index over ``words`` is made by a migration: GIN on PostgreSQL, FTS5 on SQLite.
    """

    kind = models.CharField(max_length=20)
    slug = models.CharField(max_length=120)
    title = models.CharField(max_length=300)
    summary = models.TextField(blank=True)
    words = models.TextField(blank=True)
    digest = models.CharField(max_length=16)
    document = models.OneToOneField(Document, on_delete=models.CASCADE, null=True, related_name="entry")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "slug"], name="one_entry_per_page")]

    def __str__(self) -> str:
        return f"{self.kind}/{self.slug}"
