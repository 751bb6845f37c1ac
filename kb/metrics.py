"""What the site measures of itself, for Prometheus. Nothing is counted where ``METRICS_TOKEN`` is not set.

Several web processes count into files under ``PROMETHEUS_MULTIPROC_DIR``, which the settings choose before this module is read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from django.conf import settings
from django.db import Error
from django.db.models import Min
from django.utils import timezone
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from diagnose.knowledge import current
from kb import estimates, watching
from kb.models import Document, Refresh

# After an upgrade every estimate is old, and the texts are of last year: what waits does so since this version runs.
_LOADED = time.monotonic()
_REQUESTS = Counter("headroom_requests", "Requests answered", ["page", "method", "status"])
_TIMES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_SECONDS = Histogram("headroom_request_seconds", "Time to answer", ["page"], buckets=_TIMES)
_STAGES = Histogram("headroom_diagnosis_seconds", "Time of a stage of a diagnosis", ["stage"], buckets=_TIMES)


def answered(page: str, method: str, status: int, seconds: float) -> None:
    """Counts a request by the name of its page, never by its address, which may hold a key."""
    if settings.METRICS_TOKEN:
        _REQUESTS.labels(page, method, str(status)).inc()
        _SECONDS.labels(page).observe(seconds)


def stages() -> Callable[[str], None]:
    """A watch to hand to ``diagnose``: called with the name of each stage when it has passed."""
    last = time.perf_counter()

    def passed(stage: str) -> None:
        nonlocal last
        now = time.perf_counter()
        if settings.METRICS_TOKEN:
            _STAGES.labels(stage).observe(now - last)
        last = now

    return passed


def page() -> bytes:
    """Everything in the text format, the state of the work lists read from the database just now, where it answers."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    registry.register(_WorkLists())
    return generate_latest(registry)


class _WorkLists(Collector):
    """Whether the database answers, what waits for the worker, and since when."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Without the database the requests that failed for it are told all the same."""
        try:
            lists = list(self._read())
        except Error:
            lists = []
        yield GaugeMetricFamily("headroom_database_answers", "Whether the database answers", value=float(bool(lists)))
        yield from lists

    def _read(self) -> Iterator[GaugeMetricFamily]:
        old = estimates.out_of_date(current())
        since = old.order_by().aggregate(since=Min("updated"))["since"]
        waiting = min(max((timezone.now() - since).total_seconds(), 0.0), time.monotonic() - _LOADED) if since else 0.0
        run = Refresh.objects.newest()
        yield GaugeMetricFamily("headroom_stale_estimates", "Cases whose estimate is out of date", value=old.count())
        yield GaugeMetricFamily("headroom_stale_seconds", "How long the oldest of them waits", value=waiting)
        yield GaugeMetricFamily(
            "headroom_refresh_lives", "Whether a refresh is under way", value=float(bool(run and run.lives))
        )
        yield GaugeMetricFamily(
            "headroom_unmailed_notices", "Notices that wait for the mail", value=watching.unmailed().count()
        )
        yield GaugeMetricFamily("headroom_documents", "Documents", value=Document.objects.count())
