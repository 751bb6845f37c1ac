"""What a form brought that could not be taken: its fields, to be sent again, and the page on which it was written."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.http.request import RawPostDataException
from django.urls import Resolver404, resolve, reverse

from kb import notes
from kb.models import Document

# The browser that sent a form shows the answer again when its person goes back; nobody else keeps it, and nothing else is answered from it.
BACK_ONLY = "private, no-cache"
TOKEN = "csrfmiddlewaretoken"
WORDS = ("text", "paste")  # fields that hold what somebody wrote
_READ = 1000**2  # bytes of a form that nobody has checked yet
# Addresses that only take what a page sends; tests/kb/people/test_ended_session.py holds that these are all.
ACTS = frozenset({
    "kb:preview", "kb:draft_new", "kb:draft", "kb:restore", "kb:state", "kb:rename", "kb:comment", "kb:comment_delete", "kb:watch",
    "kb:attach", "kb:detach", "kb:refresh", "kb:refresh_stop", "kb:token_revoke", "kb:member_role", "kb:member_active",
    "kb:invitation_revoke", "wizard:save", "wizard:saved_outcome", "wizard:saved_delete", "wizard:saved_case",
})  # fmt: skip


def fields(request: HttpRequest) -> Iterator[tuple[str, str]]:
    """What was typed, so that a page can send it again; never a password, and not what came as a file."""
    try:
        found = list(request.POST.lists())
    except (OSError, RawPostDataException):
        return
    if not any("password" in name for name, _ in found):
        yield from ((name, str(value)) for name, values in found for value in values)


def again(request: HttpRequest) -> list[tuple[str, str]]:
    """The same for a form with a token of its own; empty where another site may have sent it, or where it is too long to be read."""
    checked = getattr(request, "csrf_processing_done", False)
    announced = request.META.get("CONTENT_LENGTH") or "0"
    if not checked and (not from_here(request) or not announced.isdecimal() or int(announced) > _READ):
        return []
    return [(name, value) for name, value in fields(request) if name != TOKEN]


def from_here(request: HttpRequest) -> bool:
    """Whether the browser vouches that a page of this site sent it: no page can write this header."""
    return request.headers.get("Sec-Fetch-Site") == "same-origin"


def written_on(request: HttpRequest) -> str:
    """The address of the page on which it was written, to come back to: that of the form, or of what the form acts on."""
    shown = urlsplit(request.headers.get("HX-Current-URL", ""))
    if shown.netloc == request.get_host():
        return f"{shown.path}?{shown.query}" if shown.query else shown.path
    match = request.resolver_match
    if match is None or match.view_name not in ACTS:
        return request.get_full_path()
    if {"kind", "slug"} <= match.kwargs.keys() and match.kwargs["kind"] == Document.NOTES:
        folder = match.kwargs["slug"].partition("/")[0]
        return notes.address(Document(kind=Document.NOTES, slug=match.kwargs["slug"])) if folder in notes.PAGES else "/"
    return _above(request.path)


def _above(path: str) -> str:
    """The nearest address above this one that is a page."""
    while path != "/":
        path = path.rstrip("/").rpartition("/")[0] + "/"
        try:
            if resolve(path).view_name not in ACTS:
                return path
        except Resolver404:
            continue
    return reverse("wizard:start")
