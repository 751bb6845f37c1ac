"""The pages of a saved diagnosis: one link shows it, another owns it."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis
from kb import saving
from kb.documents import DocumentError
from kb.models import Document
from kb.near_cases import near
from kb.permissions import may
from wizard import draft, limits, saved, state
from wizard.answering import answer, pairs
from wizard.models import SavedDiagnosis


@require_POST
@limits.at_most(limits.FIELDS)
def save(request: HttpRequest) -> HttpResponse:
    """Keeps the reduced paste and the answers of the page, and leads to the owner's link."""
    text, answers = request.POST.get("reduced", ""), state.read_answers(pairs(request.POST))
    if not text.strip() and not answers.values:
        return redirect("wizard:start")
    diagnosis = diagnose(text, answers.values, current(), near(request.user))
    row, key = saved.save(diagnosis, answers, request.user)
    address = reverse("wizard:saved_own", args=[row.view, key])
    if request.headers.get("HX-Request"):
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return HttpResponseRedirect(address, status=303)


@require_safe
def show(request: HttpRequest, view: str) -> HttpResponse:
    """For whoever has the link."""
    row = _row(view)
    return _page(request, row, {"saved": row})


@require_safe
def own(request: HttpRequest, view: str, key: str) -> HttpResponse:
    """The same with what only its owner may do."""
    row = _owned(view, key)
    levers = sorted(current().levers.values(), key=lambda lever: lever.title)
    link = request.build_absolute_uri(reverse("wizard:saved", args=[view]))
    more = {"saved": row, "key": key, "view_link": link, "levers": levers, "may_draft": may(request.user, "create")}
    return _page(request, row, more)


@require_POST
def outcome(request: HttpRequest, view: str, key: str) -> HttpResponse:
    """What became of it, in the owner's words."""
    row = _owned(view, key)
    told = request.POST
    saved.tell_outcome(row, told.get("outcome", ""), told.get("lever", ""), told.get("words", ""), current())
    return redirect("wizard:saved_own", view, key)


@require_POST
def delete(request: HttpRequest, view: str, key: str) -> HttpResponse:
    """Forgets it at once."""
    _owned(view, key).delete()
    return render(request, "wizard/saved_gone.html", {"section": "diagnose"})


@require_POST
def to_case(request: HttpRequest, view: str, key: str) -> HttpResponse:
    """The draft of a case with the facts filled in; its author goes on in the editor."""
    row = _owned(view, key)
    if not may(request.user, "create"):
        raise PermissionDenied
    source = request.build_absolute_uri(reverse("wizard:saved", args=[view]))
    diagnosis = _diagnosis(request, row)
    text = draft.text(diagnosis, row, source, current(), timezone.localdate())
    author, why = cast(User, request.user), "from a saved diagnosis"
    try:
        made = saving.create(Document.CASES, "", text, author, why, current(), Document.DRAFT)
    except DocumentError:  # another case has this title's address
        made = saving.create(Document.CASES, draft.slug(diagnosis, row), text, author, why, current(), Document.DRAFT)
    return redirect("kb:edit", Document.CASES, made.document.slug)


def _row(view: str) -> SavedDiagnosis:
    row = saved.living().filter(view=view).first()
    if row is None:
        raise Http404("no such diagnosis, or it has expired")
    return row


def _owned(view: str, key: str) -> SavedDiagnosis:
    row = _row(view)
    if not saved.owns(row, key):
        raise Http404("not the owner's link")
    return row


def _diagnosis(request: HttpRequest, row: SavedDiagnosis) -> Diagnosis:
    return diagnose(row.text, saved.answers_of(row).values, current(), near(request.user))


def _page(request: HttpRequest, row: SavedDiagnosis, more: dict[str, object]) -> HttpResponse:
    """The diagnosis made anew by today's knowledge."""
    response = answer(request, _diagnosis(request, row), saved.answers_of(row), pasted=bool(row.text), more=more)
    response.headers["Cache-Control"] = "no-store"
    return response
