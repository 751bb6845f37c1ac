"""The estimates stored for cases, and the runs that make them again."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from kb.models.document import Document


class CaseEstimate(models.Model):
    """What the engine says of a case at one moment, with the digests of all that it was made from.

    ``moment`` is ``AS_IT_FAILED``, or ``fix 2``: with the settings of the case's second fix, where the case tells them.
    ``result`` holds GiB per phase and pool, see ``kb.estimates.small``. ``why`` says what went wrong where ``status`` is failed.
    ``call`` is how the verdict stands to what the case reports, a word of ``kb.agreement``; ``apart`` how far the estimate is
    above what was measured, as a share of that.
    """

    AS_IT_FAILED = "as it failed"
    STATUSES = [("done", "done"), ("failed", "failed")]

    case = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="estimates")
    moment = models.CharField(max_length=40, default=AS_IT_FAILED)
    case_digest = models.CharField(max_length=16)
    engine_digest = models.CharField(max_length=16)
    knowledge_digest = models.CharField(max_length=16)
    status = models.CharField(max_length=10, choices=STATUSES)
    why = models.TextField(blank=True)
    result = models.JSONField(default=dict)
    call = models.CharField(max_length=10, blank=True, db_index=True)
    apart = models.FloatField(null=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["case", "moment"], name="one_estimate_per_moment")]

    def __str__(self) -> str:
        return f"{self.case_id}, {self.moment}"

    def is_of(self, case: Document) -> bool:
        """Whether it was made from the text that the case has now; else its figures are of other facts."""
        return self.case_digest == case.digest


class RefreshQuerySet(models.QuerySet["Refresh"]):
    """Runs."""

    def newest(self) -> Refresh | None:
        """The one that was begun last, whatever the clocks said when the others were."""
        return self.order_by("-pk").first()


class Refresh(models.Model):
    """One run over the estimates that were out of date. The work list is the estimates themselves; this row only tells of it.

    ``seen`` is the last sign of life: a run that gave none for ``SILENT`` is dead, and the next one takes over. ``at`` are the
    cases that are being estimated, as ``kb.estimates`` writes a try of one; ``alone`` those that come one by one, with how many workers
    died over each. All times are the database's: the clocks of servers differ, and each would take the other's run for dead.
    """

    SILENT = timedelta(seconds=60)

    started = models.DateTimeField(auto_now_add=True)
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    total = models.PositiveIntegerField()
    done = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    seen = models.DateTimeField()
    stop = models.BooleanField(default=False)
    at = models.JSONField(default=list, db_default=[])
    alone = models.JSONField(default=dict, db_default={})
    ended = models.DateTimeField(null=True)

    objects = RefreshQuerySet.as_manager()

    class Meta:
        ordering = ["-started", "-pk"]

    def __str__(self) -> str:
        return f"{self.done} of {self.total}"

    @property
    def lives(self) -> bool:
        """Whether somebody works on it. A sign of life that is yet to come was given before the clock was set back."""
        near = Refresh.objects.filter(seen__gt=Now() - self.SILENT, seen__lt=Now() + self.SILENT)
        return self.ended is None and near.filter(pk=self.pk).exists()

    @property
    def seconds(self) -> float:
        """From its start to its end, or to the last sign of life."""
        return max(((self.ended or self.seen) - self.started).total_seconds(), 0.001)

    @property
    def per_second(self) -> float:
        return self.done / self.seconds

    @property
    def seconds_left(self) -> int | None:
        """At the speed so far; unknown before the first chunk."""
        return round((self.total - self.done) / self.per_second) if self.done else None
