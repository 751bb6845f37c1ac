"""A number that differs after each change of any document, so that what was worked out from all of them can be kept until then."""

from __future__ import annotations

from django.db import models


class Edition(models.Model):
    """One row. The database draws a new ``number`` itself, by triggers that a migration makes: no way of writing can forget it."""

    number = models.BigIntegerField()

    def __str__(self) -> str:
        return str(self.number)


def edition() -> int:
    """The present number; one query of one row, however many documents there are. 0 before the first document."""
    return Edition.objects.values_list("number", flat=True).first() or 0
