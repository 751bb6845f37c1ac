"""Every page as JSON and as the Markdown that it is made of."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from diagnose.knowledge import CONTENT, current, parts
from diagnose.knowledge.record import Record
from kb import case_list, data
from kb.cases import record_of, visible
from kb.lookup import moved
from kb.models import Document
from kb.tokens import for_programs, refuse
from kb.urls.converters import CATALOGUE
from kb.views import write


@require_safe
@for_programs("read", cookies=True)
def page(request: HttpRequest, kind: str, slug: str) -> HttpResponse:
    """One page with its typed fields."""
    if kind in CATALOGUE:
        return _json(data.of_record(kind, _record(kind, slug), request))
    document = _document(request, kind, slug)
    if document is None:
        return moved(request, kind, slug)
    return _json(data.of_document(document, record_of(document), request))


@csrf_exempt  # a write shows a token; no cookie counts for it
@login_not_required  # each way asks by itself
@require_http_methods(["GET", "HEAD", "PUT"])
def text(request: HttpRequest, kind: str, slug: str) -> HttpResponse:
    """One page as it is written: front matter and Markdown, byte for byte; a program that may write puts it back there."""
    return (_put if request.method == "PUT" else _get)(request, kind, slug)


@for_programs("read", cookies=True)
def _get(request: HttpRequest, kind: str, slug: str) -> HttpResponse:
    if kind in CATALOGUE:
        path = CONTENT / data.FOLDERS.get(kind, kind) / f"{_record(kind, slug).slug}.md"
        return _markdown(path.read_text())
    document = _document(request, kind, slug)
    if document is None:
        return moved(request, kind, slug)
    response = _markdown(document.text)
    response.headers["ETag"] = f'"{document.revision}"'
    return response


@require_safe
@for_programs("read", cookies=True)
def part(request: HttpRequest, slug: str, part: str) -> HttpResponse:
    """One of the further files of a framework as it is written."""
    framework = current().frameworks.get(slug)
    if framework is None or f"{slug}/{part}" not in {one.slug for one in framework.parts}:
        raise Http404(f"no part “{part}” of “{slug}”")
    return _markdown((CONTENT / parts.KIND / slug / f"{part}.md").read_text())


@for_programs("write")
def _put(request: HttpRequest, kind: str, slug: str) -> HttpResponse:
    if not request.user.is_authenticated:
        return refuse("Send Authorization: Bearer with a token for write.")
    if kind in CATALOGUE:
        return refuse("The catalogue is files under content/; a note on the page is yours to write.", 405)
    return write.put(request, kind, slug)


@require_safe
@for_programs("read", cookies=True)
def listing(request: HttpRequest, kind: str) -> HttpResponse:
    """The records of one kind; for cases the same filters, pages and facets as the page itself."""
    if kind == Document.CASES:
        return _json(case_list.as_data(visible(request.user), request, current()))
    if kind == Document.GUIDES:
        guides = Document.objects.visible_to(request.user).published().filter(kind=Document.GUIDES).order_by("title")
        found = [data.line(kind, slug, title, request) for slug, title in guides.values_list("slug", "title")]
    else:
        records = getattr(current(), data.FOLDERS.get(kind, kind)).values()
        found = [data.line(kind, record.slug, record.title, request) for record in records]
    return _json({"schema_version": data.SCHEMA, "type": kind, "total": len(found), "items": found})


def _record(kind: str, slug: str) -> Record:
    record: Record | None = getattr(current(), data.FOLDERS.get(kind, kind)).get(slug)
    if record is None:
        raise Http404(f"no record “{slug}”")
    return record


def _document(request: HttpRequest, kind: str, slug: str) -> Document | None:
    rows = Document.objects.visible_to(request.user).exclude(state=Document.TRASH).prefetch_related("estimates")
    return rows.at(kind, slug)


def _json(found: dict[str, Any]) -> JsonResponse:
    return JsonResponse(found, json_dumps_params={"ensure_ascii": False})


def _markdown(text: str) -> HttpResponse:
    return HttpResponse(text, content_type="text/markdown; charset=utf-8")
