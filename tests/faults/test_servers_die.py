"""Redis and PostgreSQL die under load and come back; the site says what happened and goes on by itself."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.faults.conftest import prepare
from tests.faults.ground import Base, Cluster, Redis, Web, wait_until, web, worker
from tests.faults.test_web_dies import SLUG, WHOLE, save
from tests.faults.test_worker_dies import MADE, OPEN, a_minute_passes, wake

pytestmark = pytest.mark.service
FIGURES = "only-for-the-figures"


@contextmanager
def load(site: Web) -> Iterator[Counter[int]]:
    """Four visitors who paste all the while; how often they got which status."""
    statuses: Counter[int] = Counter()
    over = threading.Event()

    def paste() -> None:
        while not over.is_set():
            statuses[site.diagnose().status] += 1

    visitors = [threading.Thread(target=paste) for _ in range(4)]
    for visitor in visitors:
        visitor.start()
    try:
        yield statuses
    finally:
        over.set()
        for visitor in visitors:
            visitor.join(30)


def test_the_wizard_answers_and_pages_save_while_redis_is_gone_and_the_worker_goes_on_after(
    base: Base, own_redis: Redis
) -> None:
    slug = base.one(SLUG)
    with web(base, REDIS_URL=own_redis.url) as site, worker(base, REDIS_URL=own_redis.url) as only:
        with load(site) as statuses:
            wait_until(lambda: statuses[200] > 4, "visitors are answered")
            own_redis.kill()
            before = statuses[200]
            assert save(site, slug, "Saved without Redis.").status == 302
            assert site.send("/readyz").status == 200
            wait_until(lambda: statuses[200] > before + 4, "visitors are answered without Redis")
            own_redis.start()
        assert set(statuses) == {200}
        cases = base.one("SELECT count(*) FROM kb_document WHERE kind = 'cases'")
        a_minute_passes(base)
        wait_until(lambda: only.said().count("Connected to redis") > 1, "the worker has found Redis again", only)
        wake(own_redis)
        wait_until(lambda: base.one(MADE) == cases and not base.one(OPEN), "all is up to date", only)


@pytest.fixture
def on_cluster(cluster: Cluster, state_folder: object) -> Base:
    return prepare({"HEADROOM_STATE": str(state_folder), "DATABASE_URL": cluster.url})


def test_a_postgresql_that_dies_is_told_of_on_every_page_and_all_goes_on_when_it_is_back(
    on_cluster: Base, cluster: Cluster, own_redis: Redis
) -> None:
    slug = on_cluster.one(SLUG)
    figures = {"METRICS_TOKEN": FIGURES}
    with (
        web(on_cluster, REDIS_URL=own_redis.url, **figures) as site,
        worker(on_cluster, REDIS_URL=own_redis.url) as only,
    ):
        with load(site) as statuses:
            wait_until(lambda: statuses[200] > 4, "visitors are answered")
            text = on_cluster.one(f"SELECT text FROM kb_document WHERE slug = '{slug}'")
            cluster.kill()
            wait_until(lambda: statuses[503] > 4, "visitors are told")
            words_are_kept_in_the_page(site, slug, text)
            every_kind_of_answer_says_what_happened(site, slug)
            wake(own_redis)  # a task that finds no database
            wait_until(lambda: "OperationalError" in only.said(), "the worker has met it")
            cluster.start()
            before = statuses[200]
            wait_until(lambda: statuses[200] > before + 4, "visitors are answered again")
        assert set(statuses) == {200, 503}
        assert save(site, slug, "Saved after it came back.").status == 302
        assert on_cluster.one(WHOLE) == 0
        cases = on_cluster.one("SELECT count(*) FROM kb_document WHERE kind = 'cases'")
        a_minute_passes(on_cluster)
        wake(own_redis)
        wait_until(lambda: on_cluster.one(MADE) == cases and not on_cluster.one(OPEN), "all is up to date", only)


def words_are_kept_in_the_page(site: Web, slug: str, text: str) -> None:
    answer = site.send(f"/cases/{slug}/edit/", {"text": f"{text}\nWords of an hour.", "base": "1", "do": "save"})
    assert answer.status == 503
    assert "Words of an hour." in answer.body
    assert "Send it again" in answer.body


def every_kind_of_answer_says_what_happened(site: Web, slug: str) -> None:
    for path in ("/", "/cases/", f"/cases/{slug}/", "/search/?q=memory", "/estimates/", "/members/"):
        answer = site.send(path)
        assert (path, answer.status) == (path, 503)
        assert "The database does not answer" in answer.body
        assert answer.headers["Retry-After"] == "60"
    assert site.diagnose().body.startswith("The database does not answer.")
    as_json = site.send("/cases.json", accept="application/json")
    assert json.loads(as_json.body)["error"] == "database does not answer"
    figures = site.send("/metrics", accept="*/*", token=FIGURES)
    assert "headroom_database_answers 0.0" in figures.body
    assert 'page="kb:search",status="503"' in figures.body
    ready = site.send("/readyz")
    assert (ready.status, json.loads(ready.body)["why"]) == (503, "the database does not answer")
    assert site.send("/healthz").status == 200
