"""Numbers that differ after each change, so that what was worked out from the base can be kept until then."""

from __future__ import annotations

from django.db import models


class Edition(models.Model):
    """Two rows: of the documents, and of what stands around them (comments, files, estimates).

    The database draws a new ``number`` itself, by triggers that a migration makes: no way of writing can forget it.
    """

    DOCUMENTS, AROUND = 1, 2

    number = models.BigIntegerField()

    def __str__(self) -> str:
        return str(self.number)


def edition() -> int:
    """The present number of the documents; one query of one row, however many there are. 0 before the first document."""
    return Edition.objects.filter(pk=Edition.DOCUMENTS).values_list("number", flat=True).first() or 0


def whole_edition() -> tuple[tuple[int, int], ...]:
    """The present numbers of both; one query of two rows."""
    return tuple(Edition.objects.order_by("pk").values_list("pk", "number"))
