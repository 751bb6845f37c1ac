"""What stands below a document's page: remarks, files, and pages like it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Case as CaseExpression
from django.db.models import F, IntegerField, Q, QuerySet, Value, When

from kb.comments import may_change, may_delete
from kb.markdown import as_rendered
from kb.models import Document, Role, role_of
from kb.permissions import may

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

RELATED = 5
_ALIKE = ("framework", "oom_kind", "phase", "gpu_model", "model_size")


def context(document: Document, user: AbstractBaseUser | AnonymousUser) -> dict[str, Any]:
    """What ``kb/_around.html`` needs; three queries, and one more for a member."""
    member = role_of(user) >= Role.READER
    remarks = [
        {
            "row": row,
            "html": as_rendered(row.html),
            "may_change": member and may_change(row, user),  # type: ignore[arg-type]
            "may_delete": member and may_delete(row, user),  # type: ignore[arg-type]
        }
        for row in document.comments.all()
    ]
    return {
        "remarks": remarks,
        "files": list(document.attachments.all()),
        "related": list(related(document, user)) if document.kind == Document.CASES else [],
        "may_comment": may(user, "comment", document),
        "may_attach": may(user, "attach", document),
        "watched": member and document.watches.filter(user_id=user.pk).exists(),  # type: ignore[misc]
    }


def related(document: Document, user: AbstractBaseUser | AnonymousUser) -> QuerySet[Document]:
    """Cases that share most of what lists narrow by, at least two of it; the newest of equally near ones first."""
    shared: Any = Value(0)
    told = Q()
    for field in _ALIKE:
        if value := getattr(document, field):
            same = Q(**{field: value})
            told |= same
            shared = shared + CaseExpression(When(same, then=Value(1)), default=Value(0), output_field=IntegerField())
    if not told:
        return Document.objects.none()
    rows = Document.objects.visible_to(user).published().cases().filter(told).exclude(pk=document.pk)
    near = rows.annotate(shared=shared).filter(shared__gte=2)
    return near.order_by("-shared", F("happened").desc(nulls_last=True), "slug").only("slug", "title", "kind")[:RELATED]
