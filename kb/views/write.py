"""Writing by programs: ``PUT`` of a whole document to the address that gives it. The same rules as in the editor."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.models import User
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_http_methods

from diagnose.knowledge import current
from diagnose.knowledge.loader import Problem
from kb import documents, markdown, saving
from kb.documents import DocumentError
from kb.models import Document
from kb.permissions import may

MOST = 2 * markdown.MAX_BYTES  # bytes of a body; what is longer than a document may be is not read


@require_http_methods(["PUT"])
def put(request: HttpRequest, kind: str, slug: str) -> JsonResponse:
    """Creates, or edits from the revision that ``If-Match`` names: 201 or 200, else the reasons.

    403 without the right, 409 where others changed the same lines since, 422 with every misfit, 428 where an edit names no revision.
    """
    if int(request.headers.get("Content-Length") or 0) > MOST:
        return _answer(413, f"A document has at most {markdown.MAX_BYTES:,} bytes.")
    document = Document.objects.visible_to(request.user).at(kind, slug)
    if not may(request.user, "edit" if document else "create", document):
        return _answer(403, "Your role may not write this.")
    try:
        return _edit(request, document) if document else _create(request, kind, slug)
    except DocumentError as misfit:
        return _answer(422, "The document does not fit.", misfit.problems)
    except saving.Conflict as conflict:
        who, number = conflict.theirs.author_name, conflict.theirs.number
        words = f"{who} changed the same lines in revision {number}. Your text is kept as a draft."
        return _answer(409, words, conflict.problems, revision=number)


def _create(request: HttpRequest, kind: str, slug: str) -> JsonResponse:
    return _done(saving.create(kind, slug, _text(request), cast(User, request.user), _why(request), current()), 201)


def _edit(request: HttpRequest, document: Document) -> JsonResponse:
    base = request.headers.get("If-Match", "").strip('W/" ')
    if not base.isdecimal() or len(base) > 9:
        words = f"Send If-Match with the revision that you edited; the present one is {document.revision}."
        return _answer(428, words)
    author, why = cast(User, request.user), _why(request)
    return _done(saving.save(document, _text(request), int(base), author, why, current()), 200)


def _text(request: HttpRequest) -> str:
    return documents.decoded(request.read(MOST), "body", MOST)


def _why(request: HttpRequest) -> str:
    """In UTF-8, as programs send it; a header comes as one letter for each byte."""
    return request.headers.get("X-Why", "").encode("latin-1", errors="replace").decode(errors="replace")


def _done(saved: saving.Saved, status: int) -> JsonResponse:
    document = saved.document
    told = {"slug": document.slug, "revision": document.revision, "merged": saved.merged, "state": document.state}
    return JsonResponse(told, status=status, headers={"ETag": f'"{document.revision}"'})


def _answer(status: int, words: str, problems: list[Problem] | None = None, **more: object) -> JsonResponse:
    told = {"error": words, "problems": [{"place": p.place, "says": p.says} for p in problems or ()], **more}
    return JsonResponse(told, status=status, json_dumps_params={"ensure_ascii": False})
