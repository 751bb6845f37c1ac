"""The site's Celery application with one fault: a case whose name ends with ``-deadly`` kills the process that estimates it."""

from __future__ import annotations

import os
import signal
from typing import Any

from celery.signals import worker_process_init

from config.celery import app

__all__ = ["app"]


@worker_process_init.connect
def bring_the_fault(**_: Any) -> None:
    from kb import estimates  # only when Django is set up

    honest = estimates.estimate_case

    def kills(record: Any, knowledge: Any) -> Any:
        if record.slug.endswith("-deadly"):
            os.kill(os.getpid(), signal.SIGKILL)
        return honest(record, knowledge)

    estimates.estimate_case = kills
