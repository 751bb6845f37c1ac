"""What stands below a document's page: remarks, files, and pages like it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

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
    """What ``kb/_around.html`` needs; five queries at most, and one more for a member."""
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


def related(document: Document, user: AbstractBaseUser | AnonymousUser) -> list[Document]:
    """Cases of the same failure that share most of what lists narrow by, at least two of it; the newest of equally near ones first."""
    told = {field: value for field in NEARNESS if (value := getattr(document, field))}
    if len(told) < 2:
        return []
    rows = Document.objects.visible_to(user).published().cases().exclude(pk=document.pk)
    near = _near(rows, told)
    found = Document.objects.filter(pk__in=near).only("slug", "title", "kind", "happened")
    newest = date.min
    return sorted(found, key=lambda row: (-near[row.pk], newest - (row.happened or newest), row.slug))[:RELATED]


def _near(rows: DocumentQuerySet, told: Mapping[str, str]) -> dict[int, int]:
    """The id of each near one → how much of ``told`` it shares; ``_POOL`` of them at most.

    Those that share all of it the index ``near_cases`` has side by side. Where they are too few all of the same failure are weighed by
    that index alone, which is work for as many as there are: the fewer share all, the fewer those mostly are.
    """
    alike = rows.filter(**told).order_by("-pk").values_list("pk", flat=True)[:_POOL]
    near = dict.fromkeys(alike, len(told))
    if len(near) >= RELATED:
        return near
    # Written out: as expressions of the ORM it takes three times as long to say as to run.
    sum_of = " + ".join(f"CASE WHEN {field} = %s THEN 1 ELSE 0 END" for field in told)
    shared = RawSQL(sum_of, tuple(told.values()), output_field=IntegerField())
    same = Q(oom_kind=told["oom_kind"]) if "oom_kind" in told else Q(*told.items(), _connector=Q.OR)
    pool = rows.filter(same).annotate(shared=shared).filter(shared__gte=2).order_by("-shared", "-pk")
    return dict(pool.values_list("pk", "shared")[:_POOL])
