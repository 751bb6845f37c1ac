"""The beat's clockwork: Celery's own, with a sign of life, and not held up by a clock that was set back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from celery.beat import PersistentScheduler  # type: ignore[import-untyped]
from django.conf import settings


class Scheduler(PersistentScheduler):  # type: ignore[misc]
    """Ticks as Celery's does.

    Each tick touches ``BEAT_ALIVE``, which the health check looks at: when the file of the schedule itself is written depends on the
    ``dbm`` that this Python was built with, and some write it at the end alone.
    """

    def tick(self, *args: Any, **kwargs: Any) -> float:
        self._forget_the_future()
        wait: float = super().tick(*args, **kwargs)
        Path(settings.BEAT_ALIVE).touch()
        return wait

    def _forget_the_future(self) -> None:
        """What last ran at a time that is yet to come, by a clock since set back, would wait until the clock is there again."""
        for entry in self.schedule.values():
            if entry.last_run_at > (now := entry.default_now()):
                entry.last_run_at = now
                self._heap = None  # Celery fills it anew, by the clock as it is
