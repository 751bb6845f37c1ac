"""What people have typed and not saved, and who is writing on a page now."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Q
from django.utils import timezone

from kb import starters
from kb.markdown import MAX_BYTES, normalise
from kb.models import Document, Draft

if TYPE_CHECKING:
    from django.contrib.auth.models import User

PRESENT = timedelta(minutes=2)


def keep(
    user: User, text: str, base: int, *, document: Document | None = None, kind: str = "", slug: str = ""
) -> Draft | None:
    """Keeps what ``user`` has in the editor, in place of what they had before; None where it is too large to keep.

    ``typed`` says that it differs from what the editor began with and from what was saved since: an editor that is only open is a
    sign of life, no draft, nor is what comes in behind its own save.
    """
    if len(text.encode(errors="replace")) > 2 * MAX_BYTES:
        return None
    text = normalise(text)
    given = {"text": text, "base": base, "typed": _typed(text, base, document, kind), "seen": timezone.now()}
    row, _ = Draft.objects.update_or_create(
        user=user,
        document=document,
        kind=document.kind if document else kind,
        slug="" if document else slug,
        defaults=given,
    )
    return row


def _typed(text: str, base: int, document: Document | None, kind: str) -> bool:
    if document is None:
        return bool(text.strip()) and text != starters.text(kind)
    return not document.revisions.filter(number__gte=base, text=text).exists()


def find(user: User, document: Document | None, kind: str = "", slug: str = "") -> Draft | None:
    """What ``user`` typed and did not save, of a document or of a new page that has no row yet."""
    rows = Draft.objects.filter(user=user, document=document, typed=True)
    return (rows if document else rows.filter(kind=kind, slug=slug)).first()


def forget(user: User | None, document: Document | None, kind: str = "", slug: str = "") -> None:
    """The words are saved, or thrown away."""
    if user:
        rows = Draft.objects.filter(user=user, document=document)
        (rows if document else rows.filter(kind=kind, slug=slug)).delete()


def others(user: User, document: Document) -> list[str]:
    """Who else has the editor of this page open."""
    rows = Draft.objects.filter(document=document, seen__gt=timezone.now() - PRESENT).exclude(user=user)
    return [draft.user.get_full_name() or draft.user.get_username() for draft in rows.select_related("user")]


def unsaved(user: User) -> list[Draft]:
    """Everything that ``user`` typed and did not save, the newest first; of documents that they may still see."""
    mine = Q(document=None) | Q(document__in=Document.objects.visible_to(user))
    return list(Draft.objects.filter(mine, user=user, typed=True).select_related("document").order_by("-saved"))
