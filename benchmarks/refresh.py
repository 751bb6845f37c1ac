"""How fast stored estimates are made anew, against the estimator alone: ``python benchmarks/refresh.py [cases]``, 10,000 unless told.

Makes a base of its own on SQLite in a folder of its own, or uses that of ``DATABASE_URL``, which then has to be empty. Figures are
processor time of one process, since other work on the machine costs none of that. While the run goes on, another thread compares
what it tells of its progress with the estimates that really stand.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
folder = tempfile.TemporaryDirectory()
os.environ["HEADROOM_STATE"] = folder.name

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from many import fill  # noqa: E402

from diagnose.knowledge import current  # noqa: E402
from diagnose.pipeline import estimate_case  # noqa: E402
from kb import documents, estimates  # noqa: E402
from kb.models import CaseEstimate, Document, Refresh  # noqa: E402

AIM, TRUE = 1.5, 0.01


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    call_command("migrate", verbosity=0)
    for _ in fill(count):
        pass
    knowledge = current()
    rows = Document.objects.values_list("kind", "slug", "text")
    texts = list(rows.order_by("pk")[:count])
    began = time.thread_time()
    for kind, slug, text in texts:
        estimate_case(documents.read(kind, slug, text, knowledge), knowledge)  # type: ignore[arg-type]
    loop = time.thread_time() - began
    over, furthest = threading.Event(), [0.0]
    watcher = threading.Thread(target=watch, args=(over, furthest))
    watcher.start()
    began, clock = time.thread_time(), time.monotonic()
    estimates.refresh(longest=3600)
    spent, clock = time.thread_time() - began, time.monotonic() - clock
    over.set()
    watcher.join()
    run = Refresh.objects.get()
    print(
        f"{run.done:,} of {run.total:,} cases, {run.failed} failed, {estimates.stale(knowledge)} left, {clock:.0f} s by the clock"
    )
    print(f"read and estimated in a loop: {count / loop:,.0f} cases/s of one core; refreshed: {count / spent:,.0f}")
    print(f"{spent / loop:.2f} times the loop (aim: {AIM}); progress at most {furthest[0]:.2%} off (aim: {TRUE:.0%})")


def watch(over: threading.Event, furthest: list[float]) -> None:
    """How far what the run tells ever is from what stands, as a share of the whole."""
    while not over.wait(0.05):
        with connection.cursor() as cursor:  # both from one moment
            estimated, refresh = CaseEstimate._meta.db_table, Refresh._meta.db_table
            cursor.execute(f"SELECT done, total, (SELECT count(DISTINCT case_id) FROM {estimated}) FROM {refresh}")
            for done, total, really in cursor.fetchall():
                furthest[0] = max(furthest[0], abs(done - really) / total)
    connection.close()


if __name__ == "__main__":
    main()
