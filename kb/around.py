"""What stands below a document's page: remarks, files, and pages like it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import connection
from django.db.models import F
from django.db.models.expressions import RawSQL

from kb.comments import may_change, may_delete
from kb.content import AUTHOR
from kb.markdown import as_rendered
from kb.models import Document, Role, role_of
from kb.models.document import NEARNESS
from kb.permissions import may

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

RELATED = 5
_POOL = 50
_BESIDE = (
    "SELECT EXISTS (SELECT 1 FROM kb_comment WHERE document_id = %s), EXISTS (SELECT 1 FROM kb_attachment WHERE document_id = %s),"
    " EXISTS (SELECT 1 FROM kb_revision WHERE document_id = %s AND author_name NOT IN ('', %s))"
)


class Beside(NamedTuple):
    """Whether remarks, files, and revisions by people stand beside a document: most have none, and each would be a query for nothing."""

    remarks: bool
    files: bool
    writers: bool


def beside(document: Document) -> Beside:
    """What there is to ask for; one query."""
    with connection.cursor() as cursor:
        cursor.execute(_BESIDE, [document.pk, document.pk, document.pk, AUTHOR])
        return Beside._make(map(bool, cursor.fetchone()))


def context(document: Document, user: AbstractBaseUser | AnonymousUser, stands: Beside) -> dict[str, Any]:
    """What ``kb/_around.html`` needs; one query for each thing that ``stands`` there, one for near cases, and one more for a member."""
    member = role_of(user) >= Role.READER
    rows = (
        document.comments.order_by("pk") if stands.remarks else ()
    )  # an answer stands below its remark, whoever's clock is late
    remarks = [
        {
            "row": row,
            "html": as_rendered(row.html),
            "may_change": member and may_change(row, user),  # type: ignore[arg-type]
            "may_delete": member and may_delete(row, user),  # type: ignore[arg-type]
        }
        for row in rows
    ]
    return {
        "remarks": remarks,
        "files": list(document.attachments.all()) if stands.files else [],
        "related": related(document, user) if document.kind == Document.CASES else [],
        "may_comment": may(user, "comment", document),
        "may_attach": may(user, "attach", document),
        "watched": member and document.watches.filter(user_id=user.pk).exists(),  # type: ignore[misc]
    }


class Related(NamedTuple):
    """A case like the one that is shown, as its link needs it."""

    slug: str
    title: str


def related(document: Document, user: AbstractBaseUser | AnonymousUser) -> list[Related]:
    """Cases of the same failure that share most of what lists narrow by, at least two of it; the newest of equally near ones first."""
    told = {field: value for field in NEARNESS if (value := getattr(document, field))}
    if len(told) < 2:
        return []
    shared, values = _shared(told)
    near = Document.objects.visible_to(user).filter(pk__in=RawSQL(*_near(document.pk, told)))
    nearest = near.order_by(RawSQL(shared, values).desc(), F("happened").desc(nulls_last=True), "slug")
    return list(map(Related._make, nearest.values_list(*Related._fields)[:RELATED]))


def _shared(told: Mapping[str, str]) -> tuple[str, list[str]]:
    """How much of ``told`` a row shares, in SQL. Written out: as expressions of the ORM it takes three times as long to say as to run."""
    return " + ".join(f"CASE WHEN {field} = %s THEN 1 ELSE 0 END" for field in told), list(told.values())


def _near(beside: int, told: Mapping[str, str]) -> tuple[str, list[object]]:
    """The ids of the published cases that are near the one ``beside``, ``_POOL`` of a circle at most, in SQL.

    A wider circle is asked only where the narrower holds too few: the narrow ones stand side by side in the index ``near_cases``, all cases
    of one failure are 20,000 among 100,000, and to weigh them takes longer than all the rest of the page.
    """
    shared, values = _shared(told)
    circles: list[str] = []
    given: list[object] = []
    for fields, joined in _circles(told):
        enough = "".join(f" AND (SELECT COUNT(*) FROM circle{n}) < {RELATED}" for n in range(len(circles)))
        within = joined.join(f"{field} = %s" for field in fields)
        circles.append(
            f"circle{len(circles)} AS (SELECT id FROM kb_document WHERE kind = %s AND state = %s AND id <> %s AND ({within})"
            f" AND {shared} >= 2{enough} ORDER BY {shared} DESC, id DESC LIMIT {_POOL})"
        )
        given += [Document.CASES, Document.PUBLISHED, beside, *(told[field] for field in fields), *values, *values]
    every = " UNION ".join(f"SELECT id FROM circle{n}" for n in range(len(circles)))
    return f"WITH {', '.join(circles)} {every}", given


def _circles(told: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Those that share all of it, those of the same failure in the same framework, those of the same failure: fields, and AND or OR."""
    yield tuple(told), " AND "
    if "oom_kind" not in told:
        yield tuple(told), " OR "
        return
    if "framework" in told:
        yield ("oom_kind", "framework"), " AND "
    yield ("oom_kind",), " AND "
