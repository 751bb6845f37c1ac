"""The estimates of all cases against what was reported, and the run that makes them anew."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from diagnose.knowledge import current
from kb import agreement, estimates, tasks
from kb.cases import visible
from kb.models import CaseEstimate, Refresh
from kb.permissions import may, needs

_NOBODY = "The broker does not answer, so no worker could be woken. Once it does, one begins within ten minutes."


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """How far the estimates of the cases that the viewer may see agree with the reports, worst first."""
    rows = CaseEstimate.objects.filter(case__in=visible(request.user), status="done")
    context = {"section": "estimates", "told": agreement.summary(rows), "worst": agreement.worst(rows)}
    return render(request, "kb/estimates.html", {**context, **_progress(request)})


@require_safe
def progress(request: HttpRequest) -> HttpResponse:
    """The run alone, asked for every two seconds while it lives."""
    return render(request, "kb/_progress.html", _progress(request))


@require_safe
def as_data(request: HttpRequest) -> HttpResponse:
    """The same figures for programs."""
    rows = CaseEstimate.objects.filter(case__in=visible(request.user), status="done")
    worst = [
        {"case": row.case.slug, "moment": row.moment, "call": row.call, "apart": row.apart}
        for row in agreement.worst(rows)
    ]
    return JsonResponse({"schema_version": 1, **agreement.summary(rows), "worst": worst})


@require_POST
@needs("refresh")
def refresh(request: HttpRequest) -> HttpResponse:
    """Begins a run and wakes a worker."""
    run = estimates.begin(request.user, current())  # type: ignore[arg-type]
    if run and not tasks.wake(run):
        messages.error(request, _NOBODY)
    return redirect("kb:estimates")


@require_POST
@needs("refresh")
def stop(request: HttpRequest) -> HttpResponse:
    """Ends the run after its present chunk."""
    run = Refresh.objects.newest()
    if run:
        estimates.stop(run)
    return redirect("kb:estimates")


def _progress(request: HttpRequest) -> dict[str, object]:
    run = Refresh.objects.select_related("started_by").newest()
    failures = CaseEstimate.objects.filter(status="failed", case__in=visible(request.user)).select_related("case")
    return {
        "run": run,
        "share": 100 * run.done // run.total if run and run.total else 100,
        "waiting": 0 if run and run.lives else estimates.stale(current()),
        "failures": failures.order_by("case__slug", "moment").defer("case__text", "case__html")[:20],
        "may_refresh": may(request.user, "refresh"),
    }
