"""What the worker does for the wizard; a diagnosis itself never waits for it."""

from __future__ import annotations

from celery import shared_task  # type: ignore[import-untyped]

from wizard import saved


@shared_task  # type: ignore[untyped-decorator]
def purge_diagnoses() -> int:
    """Deletes the saved diagnoses that have expired; how many."""
    return saved.purge()
