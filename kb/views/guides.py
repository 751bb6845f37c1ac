"""Guides: the list, and one of them."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from diagnose.knowledge.loader import parse
from kb import page_tools
from kb.kept import kept_for_visitors
from kb.lookup import moved
from kb.markdown import as_rendered
from kb.models import Document
from kb.sections import source_name


@require_safe
@kept_for_visitors
def guides(request: HttpRequest) -> HttpResponse:
    """Every published guide that the viewer may see, by title."""
    rows = Document.objects.visible_to(request.user).published().filter(kind=Document.GUIDES)
    return render(
        request, "kb/guides.html", {"section": "guides", "rows": rows.order_by("title").defer("text", "html")}
    )


@require_safe
@kept_for_visitors
def guide(request: HttpRequest, slug: str) -> HttpResponse:
    """One guide with its sources."""
    row = Document.objects.visible_to(request.user).at(Document.GUIDES, slug)
    if row is None:
        return moved(request, Document.GUIDES, slug)
    record, _ = parse(row.kind, row.slug, row.text)
    if record is None:
        raise Http404("this version cannot read the guide's text")
    sources = [(address, source_name(address)) for address in record.sources]
    context = {"section": "guides", "record": record, "sources": sources, "body": as_rendered(row.html)}
    return render(request, "kb/guide.html", {**context, **page_tools.tools(row, request.user)})
