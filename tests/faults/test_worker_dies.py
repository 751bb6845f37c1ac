"""A real worker dies, hears a thing twice or never, meets a case that it cannot read: no estimate stays out of date for good."""

from __future__ import annotations

import os
import re
import signal

import pytest
from celery import Celery

from config.supervise import GRACE
from tests.faults.ground import Base, Process, Redis, wait_until, web, worker

pytestmark = pytest.mark.service

MADE = "SELECT count(*) FROM kb_caseestimate WHERE moment = 'as it failed'"
RUNS = "SELECT done, total, failed FROM kb_refresh WHERE ended IS NOT NULL ORDER BY id"
OPEN = "SELECT count(*) FROM kb_refresh WHERE ended IS NULL"


def wake(redis: Redis, *run: int) -> None:
    """The message that the beat sends, or with a run's number the one that the button sends."""
    Celery(broker=redis.url, set_as_current=False).send_task("kb.tasks.refresh_estimates", run)


def a_minute_passes(base: Base) -> None:
    """Nobody waits for it: the last sign of life is put back."""
    earlier = "seen - interval '61 seconds'" if "DATABASE_URL" in base.variables else "datetime(seen, '-61 seconds')"
    base.ask(f"UPDATE kb_refresh SET seen = {earlier}")


def deaths(only: Process) -> int:
    """How many processes of a worker were killed."""
    return only.said().count("exited with 'signal 9")


def stale(web_page: str) -> int:
    """What the page says is out of date."""
    said = re.search(r"(\d+)</b> cases? (?:is|are) out of date", web_page)
    return int(said[1]) if said else 0


@pytest.mark.parametrize("whole", [False, True], ids=["the process that works", "the whole worker"])
def test_a_worker_that_is_killed_in_a_run_leaves_nothing_out_of_date_for_good(
    base: Base, own_redis: Redis, whole: bool
) -> None:
    cases = base.copy_cases(240)
    with worker(base, REDIS_URL=own_redis.url) as first:
        wake(own_redis)
        wait_until(lambda: base.one(MADE) > 5, "the run is under way", first)
        if whole:
            first.kill()
        else:
            os.kill(first.children()[0], signal.SIGKILL)
        made = base.one(MADE)
        assert made < cases
        assert base.one(OPEN) == 1
        a_minute_passes(base)
        if not whole:  # the worker makes itself another process
            wake(own_redis)
            wait_until(lambda: base.one(MADE) == cases and not base.one(OPEN), "all is up to date", first)
    if whole:
        with worker(base, REDIS_URL=own_redis.url) as second:
            wake(own_redis)
            wait_until(lambda: base.one(MADE) == cases and not base.one(OPEN), "all is up to date", second)
    done, total, _ = base.ask(RUNS)[-1]
    assert done == total == cases - made, "what was done before the end was not done again"


def test_a_worker_that_is_asked_to_end_in_a_long_run_ends_in_time_and_the_next_goes_on_at_once(
    sqlite: Base, own_redis: Redis
) -> None:
    sqlite.copy_cases(4000)
    with worker(sqlite, REDIS_URL=own_redis.url) as first:
        wake(own_redis)
        wait_until(lambda: sqlite.one(MADE) > 5, "the run is under way", first)
        first.process.terminate()
        assert first.process.wait(GRACE) == 0
    made = sqlite.one(MADE)
    assert sqlite.one(OPEN) == 1
    with worker(sqlite, REDIS_URL=own_redis.url) as second:
        wait_until(lambda: sqlite.one(MADE) > made, "the next goes on", second, seconds=50)
    assert sqlite.one("SELECT count(*) FROM kb_refresh") == 1


def test_a_message_that_comes_twice_does_the_work_once(base: Base, own_redis: Redis) -> None:
    cases = base.copy_cases(150)
    with web(base, REDIS_URL=own_redis.url) as site:
        assert site.send("/estimates/refresh", {}).status == 302
    run = base.one("SELECT id FROM kb_refresh")
    for _ in range(2):
        wake(own_redis, run)
    with worker(base, concurrency=3, REDIS_URL=own_redis.url) as three:
        wait_until(lambda: not base.one(OPEN), "the run has ended", three)
        assert base.ask(RUNS) == [(cases, cases, 0)]
        assert base.one(MADE) == cases


def test_a_message_that_was_lost_is_made_good_by_the_beat(base: Base, own_redis: Redis) -> None:
    cases = base.one("SELECT count(*) FROM kb_document WHERE kind = 'cases'")
    with web(base, REDIS_URL=own_redis.url) as site:
        own_redis.kill()
        assert site.send("/estimates/refresh", {}).status == 302
        own_redis.start()
        with worker(base, REDIS_URL=own_redis.url) as only:
            a_minute_passes(base)
            wake(own_redis)
            wait_until(lambda: not base.one(OPEN) and base.one(MADE) == cases, "all is up to date", only)
        assert stale(site.send("/estimates/").body) == 0


def test_a_case_that_cannot_be_read_is_told_of_and_keeps_no_other_waiting(base: Base, own_redis: Redis) -> None:
    cases = base.copy_cases(30)
    base.ask("UPDATE kb_document SET text = 'no document', digest = 'other' WHERE slug LIKE '%-1' AND kind = 'cases'")
    poisoned = base.one("SELECT count(*) FROM kb_document WHERE digest = 'other'")
    with worker(base, REDIS_URL=own_redis.url) as only:
        wake(own_redis)
        wait_until(lambda: base.one(MADE) == cases and not base.one(OPEN), "every case has an answer", only)
    assert base.ask(RUNS) == [(cases, cases, poisoned)]
    with web(base, REDIS_URL=own_redis.url) as site:
        page = site.send("/estimates/").body
    assert stale(page) == 0
    assert "begin the file with a line" in page


def test_a_case_that_kills_its_worker_each_time_keeps_no_other_waiting(base: Base, own_redis: Redis) -> None:
    cases = base.one("SELECT count(*) FROM kb_document WHERE kind = 'cases'")
    first = base.one("SELECT min(id) FROM kb_document WHERE kind = 'cases'")
    base.ask(f"UPDATE kb_document SET slug = slug || '-deadly' WHERE id = {first}")
    with worker(base, app="tests.faults.deadly", REDIS_URL=own_redis.url) as only:
        for _ in range(3):
            before = deaths(only)
            wake(own_redis)
            wait_until(lambda before=before: deaths(only) > before, "the case killed the process that works", only)
            assert base.one(MADE) == 0
            a_minute_passes(base)
        wake(own_redis)
        wait_until(lambda: base.one(MADE) == cases and not base.one(OPEN), "every case has an answer", only)
    assert base.ask("SELECT case_id FROM kb_caseestimate WHERE status = 'failed'") == [(first,)]
    with web(base, REDIS_URL=own_redis.url) as site:
        assert stale(site.send("/estimates/").body) == 0
