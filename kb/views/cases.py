"""The list of cases, and one case."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from diagnose.knowledge import current
from kb import case_list, case_page
from kb.cases import record_of, visible
from kb.models import CaseEstimate


@require_safe
def cases(request: HttpRequest) -> HttpResponse:
    """Every case that the viewer may see, narrowed by links."""
    return render(request, "kb/cases.html", case_list.listing(visible(request.user), request.GET, current()))


@require_safe
def case(request: HttpRequest, slug: str) -> HttpResponse:
    """One case with its claims, fixes, facts, estimate and sources."""
    row = get_object_or_404(visible(request.user), slug=slug)
    record = record_of(row)
    if record is None:
        raise Http404("this version cannot read the case's text")
    estimate = row.estimates.filter(moment=CaseEstimate.AS_IT_FAILED).first()
    return render(request, "kb/case.html", case_page.page(row, record, estimate, current()))
