"""Who wrote what, when and why: the list of revisions, what differs between two, and going back to one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.db.models import Max

from diagnose.knowledge import Knowledge
from kb import diff, saving
from kb.content import AUTHOR
from kb.models import Document, Revision

if TYPE_CHECKING:
    from django.contrib.auth.models import User

PAGE = 50


def listing(document: Document, number: str | None) -> dict[str, Any]:
    """The revisions, newest first, without their texts."""
    page = Paginator(document.revisions.defer("text"), PAGE).get_page(number)
    numbers = [revision.number for revision in page]
    return {
        "revisions": page,
        "newest": document.revision,
        "from_number": numbers[1] if len(numbers) > 1 else 0,
        "to_number": numbers[0] if numbers else 0,
    }


def writers(document: Document) -> tuple[str, ...]:
    """Who wrote it, the last writer first, without what came with Headroom; one query."""
    rows = document.revisions.order_by().values("author_name").annotate(last=Max("number")).order_by("-last")
    return tuple(row["author_name"] for row in rows if row["author_name"] not in ("", AUTHOR))


def between(old: Revision, new: Revision, whole: bool) -> dict[str, Any]:
    """Fields first, then the lines side by side."""
    rows = diff.rows(old.text, new.text, whole)
    return {
        "old": old,
        "new": new,
        "fields": diff.fields(old.text, new.text),
        "rows": rows,
        "same": old.text == new.text,
        "lines": sum(row.kind not in ("same", "skip") for row in rows),
        "whole": whole,
    }


def restore(document: Document, revision: Revision, user: User, knowledge: Knowledge) -> saving.Saved:
    """An old text as a new revision; raises ``DocumentError`` where it no longer fits, ``Conflict`` where somebody saved just now."""
    why = f"revision {revision.number} restored"
    return saving.save(document, revision.text, document.revision, user, why, knowledge)
