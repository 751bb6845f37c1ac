"""The list of cases, and one case."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from diagnose.knowledge import current
from kb import case_list, case_page, page_tools
from kb.cases import record_of, visible
from kb.kept import kept_for_visitors
from kb.lookup import moved
from kb.models import CaseEstimate, Document


@require_safe
@kept_for_visitors
def cases(request: HttpRequest) -> HttpResponse:
    """Every case that the viewer may see, narrowed by links."""
    return render(request, "kb/cases.html", case_list.listing(visible(request.user), request.GET, current()))


@require_safe
@kept_for_visitors
def case(request: HttpRequest, slug: str) -> HttpResponse:
    """One case with its claims, fixes, facts, estimate and sources."""
    row = Document.objects.visible_to(request.user).at(Document.CASES, slug)
    if row is None:
        return moved(request, Document.CASES, slug)
    record = record_of(row)
    if record is None:
        raise Http404("this version cannot read the case's text")
    estimate = row.estimates.filter(moment=CaseEstimate.AS_IT_FAILED).first()
    context = case_page.page(row, record, estimate, current())
    return render(request, "kb/case.html", {**context, **page_tools.tools(row, request.user)})
