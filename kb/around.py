"""What stands below a document's page: remarks, files, and pages like it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db.models import IntegerField, Q
from django.db.models.expressions import RawSQL

from kb.comments import may_change, may_delete
from kb.markdown import as_rendered
from kb.models import Document, DocumentQuerySet, Role, role_of
from kb.models.document import NEARNESS
from kb.permissions import may

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

RELATED = 5
_POOL = 50


def context(document: Document, user: AbstractBaseUser | AnonymousUser) -> dict[str, Any]:
    """What ``kb/_around.html`` needs; six queries at most, and one more for a member."""
    member = role_of(user) >= Role.READER
    remarks = [
        {
            "row": row,
            "html": as_rendered(row.html),
            "may_change": member and may_change(row, user),  # type: ignore[arg-type]
            "may_delete": member and may_delete(row, user),  # type: ignore[arg-type]
        }
        for row in document.comments.order_by("pk")  # an answer stands below what it answers, whoever's clock is late
    ]
    return {
        "remarks": remarks,
        "files": list(document.attachments.all()),
        "related": related(document, user) if document.kind == Document.CASES else [],
        "may_comment": may(user, "comment", document),
        "may_attach": may(user, "attach", document),
        "watched": member and document.watches.filter(user_id=user.pk).exists(),  # type: ignore[misc]
    }


class Related(NamedTuple):
    """A case like the one that is shown, as its link needs it."""

    pk: int
    slug: str
    title: str
    happened: date | None


def related(document: Document, user: AbstractBaseUser | AnonymousUser) -> list[Related]:
    """Cases of the same failure that share most of what lists narrow by, at least two of it; the newest of equally near ones first."""
    told = {field: value for field in NEARNESS if (value := getattr(document, field))}
    if len(told) < 2:
        return []
    rows = Document.objects.visible_to(user).published().cases().exclude(pk=document.pk)
    near = _near(rows, told)
    found = map(Related._make, Document.objects.filter(pk__in=near).order_by().values_list(*Related._fields))
    newest = date.min
    return sorted(found, key=lambda row: (-near[row.pk], newest - (row.happened or newest), row.slug))[:RELATED]


def _near(rows: DocumentQuerySet, told: Mapping[str, str]) -> dict[int, int]:
    """The id of each near one → how much of ``told`` it shares; ``_POOL`` of them at most.

    A wider circle is asked only where the narrower holds too few: the narrow ones stand side by side in the index ``near_cases``, all cases
    of one failure are 20,000 among 100,000, and to weigh them takes longer than all the rest of the page.
    """
    # Written out: as expressions of the ORM it takes three times as long to say as to run.
    sum_of = " + ".join(f"CASE WHEN {field} = %s THEN 1 ELSE 0 END" for field in told)
    shared = RawSQL(sum_of, tuple(told.values()), output_field=IntegerField())
    near: dict[int, int] = {}
    for circle in _circles(told):
        pool = rows.filter(circle).annotate(shared=shared).filter(shared__gte=2).order_by("-shared", "-pk")
        near = dict(pool.values_list("pk", "shared")[:_POOL])
        if len(near) >= RELATED:
            break
    return near


def _circles(told: Mapping[str, str]) -> Iterator[Q]:
    """Those that share all of it, those of the same failure in the same framework, those of the same failure."""
    yield Q(**told)
    if "oom_kind" not in told:
        yield Q(*told.items(), _connector=Q.OR)
        return
    failure = Q(oom_kind=told["oom_kind"])
    if "framework" in told:
        yield failure & Q(framework=told["framework"])
    yield failure
