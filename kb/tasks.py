"""What the Celery worker does. A message only wakes it: the work list is the database, and the beat repairs what was lost."""

from __future__ import annotations

from celery import shared_task  # type: ignore[import-untyped]
from kombu.exceptions import KombuError

from kb import estimates


@shared_task  # type: ignore[untyped-decorator]
def refresh_estimates() -> int:
    """Estimates every case whose stored estimate is old; how many that were."""
    return estimates.refresh()


def wake() -> bool:
    """Asks a worker to look at the work list; False when the broker does not answer."""
    try:
        refresh_estimates.delay()
    except (KombuError, OSError):
        return False
    return True
