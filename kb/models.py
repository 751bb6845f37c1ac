"""Cases as a team keeps them, the estimates stored for them, and the links that make an admin."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Count, Exists, F, Max, OuterRef, Sum

from diagnose.vocabulary import KINDS

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser


class CaseQuerySet(models.QuerySet["Case"]):
    """Every lookup of cases begins with ``visible_to``."""

    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> CaseQuerySet:
        """What this viewer may see: published cases, for everyone so far."""
        return self.filter(published=True)

    def revision_digest(self) -> str:
        """Differs as soon as one of these cases was added, changed or taken away; one query, no text read."""
        sums = self.order_by().aggregate(Count("pk"), Sum("pk"), Sum("revision"), Max("updated"))
        return hashlib.sha256(repr(sorted(sums.items())).encode()).hexdigest()[:16]

    def with_old_estimate(self, engine_digest: str, knowledge_digest: str) -> CaseQuerySet:
        """Cases without an estimate made of their present text by this engine from this knowledge."""
        fresh = CaseEstimate.objects.filter(
            case=OuterRef("pk"),
            case_digest=OuterRef("digest"),
            engine_digest=engine_digest,
            knowledge_digest=knowledge_digest,
        )
        return self.filter(~Exists(fresh)).order_by("pk")

    def counts_by(self, field: str) -> dict[str, int]:
        """How many of these cases have each value of an indexed field; "" stands for not told."""
        return dict(self.order_by().values_list(field).annotate(Count("pk")))


class Case(models.Model):
    """One case. ``text`` is the whole document; the other fields are derived from it at each save and never edited.

    ``digest`` is of ``text``; ``shipped_digest`` of the shipped text it was last loaded from, empty for a team's own case.
    """

    slug = models.SlugField(max_length=100, unique=True)
    text = models.TextField()
    digest = models.CharField(max_length=16)
    shipped_digest = models.CharField(max_length=16, blank=True)
    revision = models.PositiveIntegerField(default=0)
    published = models.BooleanField(default=True)
    updated = models.DateTimeField(auto_now=True)

    renderer = models.PositiveSmallIntegerField(default=0)
    title = models.CharField(max_length=300)
    summary = models.TextField(blank=True)
    thread = models.CharField(max_length=120, blank=True)
    html = models.TextField(blank=True)
    facts = models.JSONField(default=dict)
    framework = models.CharField(max_length=60, blank=True, db_index=True)
    oom_kind = models.CharField(max_length=40, blank=True, db_index=True)
    phase = models.CharField(max_length=40, blank=True, db_index=True)
    worked = models.PositiveSmallIntegerField(default=0)
    failed = models.PositiveSmallIntegerField(default=0)
    suggested = models.PositiveSmallIntegerField(default=0)
    solved = models.BooleanField(null=True)
    happened = models.DateField(null=True)

    objects = CaseQuerySet.as_manager()

    class Meta:
        ordering = [F("happened").desc(nulls_last=True), "slug"]

    def __str__(self) -> str:
        return self.title

    @property
    def edited(self) -> bool:
        """Whether the text differs from the one that was shipped."""
        return self.digest != self.shipped_digest

    @property
    def kind_words(self) -> str:
        return KINDS.get(self.oom_kind, "not settled")


class CaseEstimate(models.Model):
    """What the engine says of a case at one moment, with the digests of all that it was made from.

    ``result`` holds GiB per phase and pool, see ``kb.estimates.small``. ``why`` says what went wrong where ``status`` is failed.
    """

    AS_IT_FAILED = "as it failed"
    STATUSES = [("done", "done"), ("failed", "failed")]

    case = models.ForeignKey(Case, on_delete=models.CASCADE, related_name="estimates")
    moment = models.CharField(max_length=40, default=AS_IT_FAILED)
    case_digest = models.CharField(max_length=16)
    engine_digest = models.CharField(max_length=16)
    knowledge_digest = models.CharField(max_length=16)
    status = models.CharField(max_length=10, choices=STATUSES)
    why = models.TextField(blank=True)
    result = models.JSONField(default=dict)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["case", "moment"], name="one_estimate_per_moment")]

    def __str__(self) -> str:
        return f"{self.case_id}, {self.moment}"


class AdminLink(models.Model):
    """A link that makes one admin. Only the digest of its token is kept; using it deletes the row."""

    digest = models.CharField(max_length=64, unique=True)
    made = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"made {self.made:%d %B %Y %H:%M}"
