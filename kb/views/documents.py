"""Writing: a new document, the editor, its preview, and what is kept of words that nobody saved yet."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from diagnose.knowledge import current
from kb import drafts, editor, notes, pace, saving, starters
from kb.documents import DocumentError
from kb.editor import Typed
from kb.lookup import on_document
from kb.models import Document
from kb.permissions import needs
from kb.saving import Conflict, Saved

_NOT_SAVED = 422


@never_cache
@require_http_methods(["GET", "POST"])
@needs("create")
def new(request: HttpRequest, kind: str) -> HttpResponse:
    """A case or guide that nobody wrote yet, or the note of a catalogue page."""
    user, slug = _user(request), request.GET.get("slug", "")
    if kind == Document.NOTES:
        if notes.subject(slug, current()) is None:
            raise Http404("the catalogue has no such page")
        if Document.objects.visible_to(user).filter(kind=kind, slug=slug).exists():
            return redirect("kb:edit", kind, slug)
    if request.method == "POST":
        return _create(request, kind, slug)
    draft = drafts.find(user, None, kind, slug)
    now = Typed(draft.text if draft else starters.text(kind), 0, slug=slug)
    return _editor(request, kind, None, now, {"draft": draft} if draft else {"findings": []})


def _create(request: HttpRequest, kind: str, slug: str) -> HttpResponse:
    user, now = _user(request), editor.typed(request.POST)
    slug = slug or now.slug
    if now.do == "discard":
        drafts.forget(user, None, kind, slug if kind == Document.NOTES else "")
        return redirect(request.get_full_path())
    if now.do == "preview" or now.wrong:
        return _editor(request, kind, None, now, status=_NOT_SAVED if now.wrong else 200)
    state = Document.PUBLISHED if now.do == "publish" or kind == Document.NOTES else Document.DRAFT
    try:
        saved = saving.create(kind, slug, now.text, user, now.why, current(), state)
    except DocumentError as misfit:
        return _editor(request, kind, None, now, {"problems": misfit.problems}, _NOT_SAVED)
    messages.success(
        request, "Published." if state == Document.PUBLISHED else "Saved as a draft that you and reviewers see."
    )
    return redirect(notes.address(saved.document))


@never_cache
@require_http_methods(["GET", "POST"])
@on_document("edit")
def edit(request: HttpRequest, document: Document) -> HttpResponse:
    """The whole text, with what its writer had typed and not saved, or with an older revision to begin from."""
    if request.method == "POST":
        return _save(request, document)
    user, number = _user(request), request.GET.get("from", "")
    draft = drafts.find(user, document)
    now = Typed(draft.text, draft.base) if draft else Typed(document.text, document.revision)
    old = document.revisions.filter(number=number).first() if number.isdecimal() and len(number) < 9 else None
    if old:
        now, draft = Typed(old.text, document.revision, f"revision {old.number} as the ground"), None
    return _editor(request, document.kind, document, now, {"draft": draft})


def _save(request: HttpRequest, document: Document) -> HttpResponse:
    user, now = _user(request), editor.typed(request.POST)
    if now.do == "discard":
        drafts.forget(user, document)
        return redirect("kb:edit", document.kind, document.slug)
    if now.do == "join":
        now = editor.join(document, now, request.POST) or now
    if now.do == "preview" or now.wrong:
        return _editor(request, document.kind, document, now, status=_NOT_SAVED if now.wrong else 200)
    try:
        saved = saving.save(document, now.text, now.base, user, now.why, current())
    except DocumentError as misfit:
        return _editor(request, document.kind, document, now, {"problems": misfit.problems}, _NOT_SAVED)
    except Conflict as clash:
        document.refresh_from_db()
        return _editor(request, document.kind, document, now, editor.conflict(clash, now), 409)
    messages.success(request, _said(saved))
    return redirect(notes.address(saved.document))


@never_cache
@require_POST
@needs("preview")
def preview(request: HttpRequest, kind: str) -> HttpResponse:
    """The preview of what is being typed, as a fragment."""
    if pace.too_fast(_user(request).pk):
        return HttpResponse("Too many previews in one minute. Your text is not lost: wait a moment.", status=429)
    now = editor.typed(request.POST)
    return render(request, "kb/_preview.html", editor.fragment(kind, now, request.POST.get("was", ""), current()))


@never_cache
@require_POST
@needs("edit")
def draft_new(request: HttpRequest, kind: str) -> HttpResponse:
    """Keeps what is being typed of a new page."""
    user, now = _user(request), editor.typed(request.POST)
    if pace.too_fast(user.pk):
        return HttpResponse(status=429)
    slug = request.GET.get("slug", "") if kind == Document.NOTES else ""
    if slug and notes.subject(slug, current()) is None:
        raise Http404("the catalogue has no such page")
    kept = drafts.keep(user, now.text, 0, kind=kind, slug=slug)
    return render(request, "kb/_kept.html", {"kept": kept})


@never_cache
@require_POST
@on_document("edit")
def draft(request: HttpRequest, document: Document) -> HttpResponse:
    """Keeps what is being typed, and says who else has the editor open and whether somebody saved."""
    user, now = _user(request), editor.typed(request.POST)
    if pace.too_fast(user.pk):
        return HttpResponse(status=429)
    kept = drafts.keep(user, now.text, now.base, document=document)
    newer = document.revisions.filter(number__gt=now.base).first() if now.base else None
    context = {"kept": kept, "others": drafts.others(user, document), "newer": newer, "document": document}
    return render(request, "kb/_kept.html", context)


def _editor(
    request: HttpRequest,
    kind: str,
    document: Document | None,
    now: Typed,
    more: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    more = more or {}
    context = editor.page(kind, document, now, more.pop("problems", None), current())
    return render(request, "kb/edit.html", {**context, **more}, status=status)


def _said(saved: Saved) -> str:
    if saved.revision is None:
        return "Nothing was changed."
    joined = ", joined with what was saved meanwhile" if saved.merged else ""
    return f"Saved as revision {saved.revision.number}{joined}."


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)
