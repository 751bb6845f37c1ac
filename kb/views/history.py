"""The history of a document: the list, two revisions side by side, and going back."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from diagnose.knowledge import current
from kb import audit, notes
from kb import history as revisions
from kb.documents import DocumentError
from kb.lookup import on_document
from kb.models import Document, Revision
from kb.permissions import may
from kb.saving import Conflict

STEPS = 50


@require_safe
@on_document()
def history(request: HttpRequest, document: Document) -> HttpResponse:
    """Every revision: who, when, why; and what became of the page beside its words."""
    context = revisions.listing(document, request.GET.get("page"))
    steps = audit.of_document(document)[:STEPS]
    return render(request, "kb/history.html", {**_head(request, document), **context, "steps": steps})


@require_safe
@on_document()
def diff(request: HttpRequest, document: Document) -> HttpResponse:
    """Any two revisions; the newest against the one before it where nothing is said."""
    new = _revision(document, request.GET.get("to", "") or str(document.revision))
    old = _revision(document, request.GET.get("from", "") or str(max(new.number - 1, 1)))
    context = revisions.between(old, new, whole="whole" in request.GET)
    listed = revisions.listing(document, request.GET.get("page"))
    chosen = {"from_number": old.number, "to_number": new.number}
    return render(request, "kb/diff.html", {**_head(request, document), **listed, **context, **chosen})


@require_POST
@on_document("edit")
def restore(request: HttpRequest, document: Document) -> HttpResponse:
    """An old text becomes the newest; one that no longer fits is opened in the editor with what to mend."""
    user, old = cast(User, request.user), _revision(document, request.POST.get("number", ""))
    if request.POST.get("newest") != str(document.revision):
        messages.error(request, "Somebody saved in the meantime: look at the history again.")
        return redirect("kb:history", document.kind, document.slug)
    try:
        saved = revisions.restore(document, old, user, current())
    except DocumentError:
        messages.error(request, f"Revision {old.number} no longer passes the check: mend it here, then save.")
        return redirect(f"{reverse('kb:edit', args=[document.kind, document.slug])}?from={old.number}")
    except Conflict:
        messages.error(request, "Somebody saved in the meantime: look at the history again.")
        return redirect("kb:history", document.kind, document.slug)
    said = f"Revision {old.number} stands again, as revision {saved.document.revision}."
    messages.success(request, said if saved.revision else f"Revision {old.number} is what stands.")
    return redirect(notes.address(document))


def _revision(document: Document, number: str) -> Revision:
    if not (number.isascii() and number.isdigit() and len(number) < 9):
        raise Http404("no such revision")
    return get_object_or_404(document.revisions, number=int(number))


def _head(request: HttpRequest, document: Document) -> dict[str, object]:
    return {
        "section": document.kind,
        "document": document,
        "address": notes.address(document),
        "may_edit": may(request.user, "edit", document),
    }
