"""Comments, watching, notices, files, and what changed lately."""

from __future__ import annotations

import logging
from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kb import attachments, changes, comments, notes, watching
from kb.lookup import on_document
from kb.members_only import signed_in
from kb.models import Comment, Document
from kb.tokens import for_programs

SEEN_AT_ONCE = 50
log = logging.getLogger(__name__)


@require_POST
@on_document("comment")
def comment(request: HttpRequest, document: Document) -> HttpResponse:
    """A new remark; one that is not taken comes back with its words and the reasons."""
    text = request.POST.get("text", "")
    if found := comments.refusals(text):
        return _refused(request, document, found, text)
    added = comments.add(document, text, cast(User, request.user))
    return redirect(f"{notes.address(document).partition('#')[0]}#comment-{added.pk}")


@require_http_methods(["GET", "HEAD", "POST"])
@on_document("comment")
def comment_change(request: HttpRequest, document: Document, pk: int) -> HttpResponse:
    """New words for one's own remark."""
    row = _comment(document, pk)
    if not comments.may_change(row, cast(User, request.user)):
        raise PermissionDenied
    text = request.POST.get("text", row.text)
    found = comments.refusals(text) if request.method == "POST" else []
    if request.method != "POST" or found:
        return _refused(request, document, found, text, status=400 if found else 200)
    comments.change(row, text)
    return redirect(f"{notes.address(document).partition('#')[0]}#comment-{row.pk}")


@require_POST
@on_document("comment")
def comment_delete(request: HttpRequest, document: Document, pk: int) -> HttpResponse:
    """Takes the words of a remark away."""
    row = _comment(document, pk)
    if not comments.may_delete(row, cast(User, request.user)):
        raise PermissionDenied
    comments.delete(row)
    return redirect(f"{notes.address(document).partition('#')[0]}#comment-{row.pk}")


@require_POST
@on_document("watch")
def watch(request: HttpRequest, document: Document) -> HttpResponse:
    """Begins or ends to watch a page."""
    if request.POST.get("off"):
        watching.unwatch(document, cast(User, request.user))
        messages.success(request, "You do not watch this page any more.")
    else:
        watching.watch(document, cast(User, request.user))
        messages.success(request, "You watch this page: Notices tell what changes.")
    return redirect(f"{notes.address(document).partition('#')[0]}#comments")


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def notices(request: HttpRequest) -> HttpResponse:
    """What one was told; a post marks all of it as read."""
    user = cast(User, request.user)
    if request.method == "POST":
        watching.read_all(user)
        return redirect("kb:notices")
    page = Paginator(watching.notices_of(user), SEEN_AT_ONCE).get_page(request.GET.get("page"))
    rows = [(notice, notes.address(notice.document)) for notice in page]
    return render(request, "kb/notices.html", {"section": "notices", "page": page, "rows": rows})


@require_POST
@on_document("attach")
def attach(request: HttpRequest, document: Document) -> HttpResponse:
    """Keeps the files that were sent; those that are not taken are named with the reason."""
    refused, there = [], set(document.attachments.values_list("name", flat=True))
    for upload in request.FILES.getlist("files"):
        try:
            kept = attachments.add(document, upload, cast(User, request.user))
        except attachments.Refused as words:
            refused.append(str(words))
        else:
            if kept.name in there:
                messages.info(request, f"“{kept.name}” is replaced: a file of that name was here.")
    if refused:
        return _refused(request, document, refused)
    return redirect(notes.address(document).partition("#")[0] + "#files")


@require_POST
@on_document("attach")
def detach(request: HttpRequest, document: Document, name: str) -> HttpResponse:
    """Takes a file away."""
    attachments.remove(get_object_or_404(document.attachments, name=name), cast(User, request.user))
    return redirect(notes.address(document).partition("#")[0] + "#files")


@require_safe
@on_document()
def file(request: HttpRequest, document: Document, name: str) -> HttpResponse:
    """One file: an image in place, anything else as a download, and nothing in it may run."""
    row = get_object_or_404(document.attachments, name=name)
    try:
        content = row.file.open("rb")
    except FileNotFoundError:
        log.warning("the file of attachment %s is not in the state folder", row.pk)
        raise Http404("its file is gone") from None
    response = FileResponse(content, content_type=row.type)
    shown = row.type != attachments.DOWNLOAD
    response.headers["Content-Disposition"] = content_disposition_header(not shown, row.name) or "inline"
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers["ETag"] = f'"{row.digest[:32]}"'
    return cast(HttpResponse, response)


@require_safe
def recent(request: HttpRequest) -> HttpResponse:
    """What changed lately."""
    kind = request.GET.get("kind", "")
    kind = kind if kind in dict(Document.KINDS) else ""
    page = changes.page(request.user, kind, request.GET.get("page"))
    rows = [(revision, notes.address(revision.document)) for revision in page]
    context = {"section": "changes", "page": page, "rows": rows, "kind": kind, "kinds": Document.KINDS}
    return render(request, "kb/changes.html", context)


@require_safe
@for_programs("read", cookies=True)
def feed(request: HttpRequest, kind: str = "") -> HttpResponse:
    """The same for feed readers."""
    return HttpResponse(changes.feed(request, request.user, kind), content_type="application/atom+xml; charset=utf-8")


def _comment(document: Document, pk: int) -> Comment:
    return get_object_or_404(document.comments, pk=pk, deleted=False)


def _refused(
    request: HttpRequest, document: Document, reasons: list[str], text: str = "", status: int = 400
) -> HttpResponse:
    """The words come back with what is wrong with them: nothing that was typed is lost."""
    context = {"document": document, "address": notes.address(document), "reasons": reasons, "text": text}
    return render(request, "kb/comment.html", context, status=status)
