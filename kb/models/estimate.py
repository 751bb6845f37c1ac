"""The estimates stored for cases."""

from __future__ import annotations

from django.db import models

from kb.models.document import Document


class CaseEstimate(models.Model):
    """What the engine says of a case at one moment, with the digests of all that it was made from.

    ``result`` holds GiB per phase and pool, see ``kb.estimates.small``. ``why`` says what went wrong where ``status`` is failed.
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
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["case", "moment"], name="one_estimate_per_moment")]

    def __str__(self) -> str:
        return f"{self.case_id}, {self.moment}"
