"""For machines that watch the site."""

from __future__ import annotations

import hmac

from celery import current_app  # type: ignore[import-untyped]
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import KombuError

from kb import metrics


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 as long as this process answers at all: to start it again would not bring back a database that is gone."""
    return JsonResponse({"status": "ok"})


@login_not_required
@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when this process may be given visitors: the database answers and has every migration that this version needs.

    A broker that does not answer is told and does not count: the wizard and every page answer without it.
    """
    try:
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error:
        return JsonResponse({"status": "failing", "why": "the database does not answer"}, status=503)
    if waiting:
        why = f"{len(waiting)} migrations are not applied: run manage.py migrate"
        return JsonResponse({"status": "failing", "why": why}, status=503)
    return JsonResponse({"status": "ok", "broker": "ok" if _broker_answers() else "does not answer"})


@login_not_required
@never_cache
@require_safe
def figures(request: HttpRequest) -> HttpResponse:
    """For Prometheus, which shows the token of the settings; without one there is nothing here."""
    shown = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not settings.METRICS_TOKEN or not hmac.compare_digest(shown.encode(), settings.METRICS_TOKEN.encode()):
        raise Http404
    return HttpResponse(metrics.page(), content_type="text/plain; version=0.0.4; charset=utf-8")


def _broker_answers() -> bool:
    try:
        with current_app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=1)
    except (KombuError, OSError):
        return False
    return True
