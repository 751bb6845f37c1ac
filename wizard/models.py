"""What a person chose to save of a visit; everything else is forgotten with the answer."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

LIFETIME = timedelta(days=90)


def _expiry() -> object:
    return timezone.now() + LIFETIME


class SavedDiagnosis(models.Model):
    """A diagnosis that can be made again: the reduced, redacted paste and the answers, never the answer itself.

    ``view`` stands in the link for others; of the key in the owner's link only the ``own`` digest is kept.
    """

    OUTCOMES = [("", "not told"), ("worked", "a change here worked"), ("failed", "nothing here worked")]

    view = models.CharField(max_length=32, unique=True)
    own = models.CharField(max_length=64)
    text = models.TextField(blank=True)
    answers = models.JSONField(default=dict)
    skipped = models.JSONField(default=list)
    headline = models.CharField(max_length=300)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    made = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField(default=_expiry, db_index=True)
    outcome = models.CharField(max_length=10, choices=OUTCOMES, blank=True)
    lever = models.CharField(max_length=60, blank=True)
    words = models.TextField(blank=True)

    def __str__(self) -> str:
        return self.headline
