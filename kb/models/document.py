"""Documents: cases, guides and notes, each with one history of whole texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Case as CaseExpression
from django.db.models import Exists, F, OuterRef, Q, Value, When

from diagnose.vocabulary import KINDS
from kb.models.people import Role, role_of

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser


def may_read(user: AbstractBaseUser | AnonymousUser | None) -> bool:
    """Whether this viewer may see anything at all: a member, or anybody where the site is open."""
    return not settings.MEMBERS_ONLY or role_of(user) >= Role.READER


def visible(user: AbstractBaseUser | AnonymousUser | None, path: str = "") -> Q:
    """The one rule of what a viewer may see, for documents at the end of ``path`` (as ``document__``).

    Published pages where the site is open or the viewer is a member; a draft is its author's and the reviewers'; the trash is
    what the viewer put there, and everything for reviewers.
    """

    def where(**fields: object) -> Q:
        return Q(**{path + field: value for field, value in fields.items()})

    role = role_of(user)
    if not may_read(user):
        return Q(pk__in=())
    if role < Role.READER:
        return where(state=Document.PUBLISHED)
    if role >= Role.REVIEWER:
        return where(pk__isnull=False)
    own = where(state=Document.DRAFT, author=user) | where(state=Document.TRASH, deleted_by=user)
    return where(state=Document.PUBLISHED) | own


# What near cases are chosen by, see kb.near_cases: an index holds all of it.
NEARNESS = ("oom_kind", "framework", "phase", "gpu_model", "model_size")


class DocumentQuerySet(models.QuerySet["Document"]):
    """Every lookup, count, facet, feed, suggestion and match begins with ``visible_to``."""

    def visible_to(self, user: AbstractBaseUser | AnonymousUser | None) -> DocumentQuerySet:
        """What this viewer may see, by ``visible``."""
        return self.filter(visible(user))

    def published(self) -> DocumentQuerySet:
        """What stands in lists, counts, feeds and matches: neither drafts nor the trash."""
        return self.filter(state=Document.PUBLISHED)

    def at(self, kind: str, slug: str) -> Document | None:
        """The one at an address. It needs none of the order of lists, which takes longer to say than to look the document up."""
        return self.filter(kind=kind, slug=slug).order_by("pk").first()

    def cases(self) -> DocumentQuerySet:
        return self.filter(kind=Document.CASES)

    def having_words(self, words: str) -> DocumentQuerySet:
        """Those that have every word, found as the search finds them."""
        from kb.models.search import Entry
        from kb.search.query import clauses, read_query, strong

        wanted = strong(read_query(words))
        if not wanted:
            return self.none() if words.strip() else self
        return self.filter(pk__in=Entry.objects.exclude(document=None).having(clauses(wanted)).values("document"))

    def with_review_state(self) -> DocumentQuerySet:
        """Adds ``review_state``: reviewed as it stands, changed since, or not reviewed at all (empty)."""
        since = When(reviewed__gt=0, then=Value(Document.CHANGED))
        return self.annotate(
            review_state=CaseExpression(
                When(reviewed=F("revision"), then=Value(Document.REVIEWED)), since, default=Value("")
            )
        )

    def with_old_estimate(self, engine_digest: str, knowledge_digest: str) -> DocumentQuerySet:
        """Documents without an estimate made of their present text by this engine from this knowledge."""
        from kb.models.estimate import CaseEstimate

        fresh = CaseEstimate.objects.filter(
            case=OuterRef("pk"),
            case_digest=OuterRef("digest"),
            engine_digest=engine_digest,
            knowledge_digest=knowledge_digest,
        )
        return self.filter(~Exists(fresh)).order_by("pk")


class Document(models.Model):
    """One document. ``text`` is the whole of it; the fields below ``renderer`` follow from it at each save and are never edited.

    ``kind`` is the folder's name under content/, or ``notes``: a team's words on a page of the catalogue, whose slug is
    ``levers/batch.micro.down``. ``digest`` is of ``text``; ``shipped_digest`` of the shipped text it was last loaded from,
    empty for a team's own. ``revision`` is the number of the newest revision, ``reviewed`` of the one a reviewer confirmed.
    """

    CASES, GUIDES, NOTES = "cases", "guides", "notes"
    KINDS = [(CASES, "case"), (GUIDES, "guide"), (NOTES, "note")]
    DRAFT, PUBLISHED, TRASH = "draft", "published", "trash"
    REVIEWED, CHANGED = "reviewed", "changed"
    REVIEW_STATES = {REVIEWED: "reviewed", CHANGED: "changed since the review"}
    STATES = [(DRAFT, "draft"), (PUBLISHED, "published"), (TRASH, "in the trash")]

    kind = models.CharField(max_length=10, choices=KINDS, default=CASES)
    slug = models.CharField(max_length=120)
    text = models.TextField()
    digest = models.CharField(max_length=16)
    shipped_digest = models.CharField(max_length=16, blank=True)
    revision = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=10, choices=STATES, default=PUBLISHED)
    state_before = models.CharField(max_length=10, choices=STATES, blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    deleted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    reviewed = models.PositiveIntegerField(default=0)
    made = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    renderer = models.PositiveSmallIntegerField(default=0)
    title = models.CharField(max_length=300)
    summary = models.TextField(blank=True)
    thread = models.CharField(max_length=120, blank=True)
    html = models.TextField(blank=True)
    facts = models.JSONField(default=dict)
    framework = models.CharField(max_length=60, blank=True)
    oom_kind = models.CharField(max_length=40, blank=True)
    phase = models.CharField(max_length=40, blank=True)
    gpu_model = models.CharField(max_length=60, blank=True)
    model_size = models.CharField(max_length=20, blank=True)
    outcome = models.CharField(max_length=20, blank=True)
    worked = models.PositiveSmallIntegerField(default=0)
    failed = models.PositiveSmallIntegerField(default=0)
    suggested = models.PositiveSmallIntegerField(default=0)
    solved = models.BooleanField(null=True)
    happened = models.DateField(null=True)

    objects = DocumentQuerySet.as_manager()

    class Meta:
        ordering = [F("happened").desc(nulls_last=True), "slug"]
        constraints = [models.UniqueConstraint(fields=["kind", "slug"], name="one_document_per_address")]
        indexes = [
            models.Index(fields=["kind", "state", field], name=f"by_{field}")
            for field in ("framework", "oom_kind", "phase", "gpu_model", "model_size", "outcome", "happened", "updated")
        ] + [models.Index(fields=["kind", "state", *NEARNESS, "id"], name="near_cases")]

    def __str__(self) -> str:
        return self.title

    @property
    def edited(self) -> bool:
        """Whether the text differs from the one that was shipped."""
        return self.digest != self.shipped_digest

    @property
    def kind_words(self) -> str:
        return KINDS.get(self.oom_kind, "not settled")


class Revision(models.Model):
    """One whole text of a document. Numbers begin at 1; ``base`` is the number that its author began from.

    ``merged``: the text joins the author's edit with what others had saved since ``base``.
    """

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    base = models.PositiveIntegerField(default=0)
    text = models.TextField()
    digest = models.CharField(max_length=16)
    title = models.CharField(max_length=300)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    author_name = models.CharField(max_length=150)
    why = models.CharField(max_length=300, blank=True)
    merged = models.BooleanField(default=False)
    made = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["document", "number"], name="one_revision_per_number")]

    def __str__(self) -> str:
        return f"{self.document_id}, {self.number}"


class Draft(models.Model):
    """What somebody has typed and not saved; also says who is editing: ``seen`` is the last sign of an open editor.

    ``document`` is empty while a new page is written; ``base`` is the revision that the writing began from.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="drafts")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, null=True, related_name="drafts")
    kind = models.CharField(max_length=10, choices=Document.KINDS)
    slug = models.CharField(max_length=120, blank=True)
    base = models.PositiveIntegerField(default=0)
    text = models.TextField()
    typed = models.BooleanField(default=False)
    seen = models.DateTimeField(db_index=True)
    saved = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "document"], name="one_draft_per_page"),
            models.UniqueConstraint(
                fields=["user", "kind", "slug"], condition=Q(document=None), name="one_draft_per_new_page"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} on {self.document_id or self.slug}"


class OldSlug(models.Model):
    """An address that a document had: links to it lead to the present one for good."""

    kind = models.CharField(max_length=10, choices=Document.KINDS)
    slug = models.CharField(max_length=120)
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="old_slugs")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "slug"], name="one_target_per_old_address")]

    def __str__(self) -> str:
        return f"{self.kind}/{self.slug}"
