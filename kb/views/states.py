"""Publish, take back, review, rename, delete, fetch back, purge; the trash, and what is not published or not saved yet."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from diagnose.knowledge import current
from kb import drafts, notes, states
from kb.documents import DocumentError
from kb.lookup import on_document
from kb.members_only import ask_to_sign_in
from kb.models import Document
from kb.permissions import may, needs

# What is asked → the permission that it takes and what is said afterwards.
DEEDS = {
    "publish": ("publish", "Published: everybody who may read sees it."),
    "unpublish": ("unpublish", "A draft again: its author and the reviewers see it."),
    "review": ("review", "Marked as reviewed."),
    "delete": ("delete", "In the trash. It can be fetched back from there."),
    "fetch_back": ("restore", "Fetched back."),
    "purge": ("purge", "Gone for good, with its history and files."),
}

_STEPS = {
    "publish": states.publish,
    "unpublish": states.unpublish,
    "delete": states.delete,
    "fetch_back": states.fetch_back,
    "purge": states.purge,
}


@require_POST
@on_document()
def state(request: HttpRequest, document: Document) -> HttpResponse:
    """One of ``DEEDS``; each is asked for with its own permission on this very document."""
    name, user = request.POST.get("do", ""), cast(User, request.user)
    if name not in DEEDS:
        return HttpResponseBadRequest(f"“do” must be one of {', '.join(DEEDS)}")
    action, said = DEEDS[name]
    if not user.is_authenticated:
        return ask_to_sign_in(request)
    if not may(user, action, document):
        raise PermissionDenied
    done = _done(name, document, user, _number(request))
    undo = reverse("kb:state", args=[document.kind, document.slug]) if name == "delete" else ""
    said = said if done else "Somebody saved in the meantime: read the newest revision first."
    if name == "purge" and document.shipped_digest:
        said += " What ships comes back at the next start."
    messages.info(request, said, extra_tags=undo)
    return redirect("kb:trash" if name in ("delete", "purge") else notes.address(document))


def _done(name: str, document: Document, user: User, number: int) -> bool:
    if name == "review":
        return states.review(document, number, user)
    _STEPS[name](document, user)
    return True


@require_POST
@on_document("rename")
def rename(request: HttpRequest, document: Document) -> HttpResponse:
    """A new address; links to the old one go on leading there."""
    slug, user = request.POST.get("slug", "").strip(), cast(User, request.user)
    try:
        states.rename(document, slug, user, current())
    except DocumentError as misfit:
        messages.error(request, " ".join(problem.says for problem in misfit.problems))
    else:
        messages.success(request, f"The address is {notes.address(document)} now; the old one leads here.")
    return redirect("kb:history", document.kind, document.slug)


@never_cache
@require_safe
@needs("edit")
def trash(request: HttpRequest) -> HttpResponse:
    """What was thrown away: everything for reviewers, one's own for editors."""
    rows = Document.objects.visible_to(request.user).filter(state=Document.TRASH).order_by("-updated")[:200]
    shown = [
        (row, may(request.user, "restore", row)) for row in rows.select_related("deleted_by").defer("text", "html")
    ]
    return render(request, "kb/trash.html", {"rows": shown, "may_purge": may(request.user, "purge")})


@never_cache
@require_safe
@needs("edit")
def unfinished(request: HttpRequest) -> HttpResponse:
    """Drafts that are not published, and what one typed and did not save."""
    rows = Document.objects.visible_to(request.user).filter(state=Document.DRAFT).order_by("-updated")[:200]
    waiting = rows.select_related("author").defer("text", "html")
    return render(request, "kb/drafts.html", {"rows": waiting, "unsaved": drafts.unsaved(cast(User, request.user))})


def _number(request: HttpRequest) -> int:
    number = request.POST.get("number", "")
    return int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0
