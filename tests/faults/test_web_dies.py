"""A real web process is killed in the middle of a save, or asked to end in the middle of an answer."""

from __future__ import annotations

import os
import random
import signal
import socket
import threading
import time

import pytest

from tests.faults.ground import Answer, Base, Web, wait_until, web
from tests.live import PATIENCE

pytestmark = pytest.mark.service

SLUG = "SELECT slug FROM kb_document WHERE kind = 'cases' ORDER BY slug LIMIT 1"
# The newest revision, the page, and what search knows, of a document that is whole.
WHOLE = (
    "SELECT count(*) FROM kb_document d LEFT JOIN kb_revision r ON r.document_id = d.id AND r.number = d.revision "
    "LEFT JOIN kb_entry e ON e.document_id = d.id WHERE r.text IS NULL OR r.text <> d.text OR e.digest <> d.digest"
)
SLOW_REVISIONS = {
    "sqlite": "CREATE TRIGGER slow BEFORE INSERT ON kb_revision BEGIN SELECT count(*) FROM "
    "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) SELECT i FROM n); END",
    "postgresql": "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$; "
    "CREATE TRIGGER slow BEFORE INSERT ON kb_revision FOR EACH ROW EXECUTE FUNCTION slow()",
}
AGAIN = {"sqlite": "DROP TRIGGER slow", "postgresql": "DROP TRIGGER slow ON kb_revision"}


def edit(base: Base, slug: str, words: str) -> dict[str, str]:
    """The form of the editor with the present text of a case and one line more."""
    text, revision = base.ask(f"SELECT text, revision FROM kb_document WHERE slug = '{slug}'")[0]
    return {"text": f"{text}\n{words}\n", "base": str(revision), "do": "save"}


def save(site: Web, slug: str, words: str) -> Answer:
    return site.send(f"/cases/{slug}/edit/", edit(site.base, slug, words))


def state(base: Base, slug: str) -> tuple[object, ...]:
    of_it = f"(SELECT count(*) FROM kb_revision r WHERE r.document_id = d.id) FROM kb_document d WHERE slug = '{slug}'"
    return base.ask(f"SELECT revision, digest, {of_it}")[0]


def kill_one(site: Web) -> None:
    """One process of the server; gunicorn makes another."""
    os.kill(site.process.children()[0], signal.SIGKILL)


def test_a_save_that_is_cut_off_by_a_kill_leaves_no_trace_and_its_sender_knows(
    base: Base, request: pytest.FixtureRequest
) -> None:
    kind, slug = request.node.callspec.params["base"], base.one(SLUG)
    before = state(base, slug)
    base.ask(SLOW_REVISIONS[kind])
    with web(base) as site:
        assert site.send(f"/cases/{slug}/").status == 200
        answers: list[Answer] = []
        saving = threading.Thread(target=lambda: answers.append(save(site, slug, "One word more.")))
        saving.start()
        time.sleep(3)  # the row of the document is written, its revision is not, nothing is committed
        assert not answers
        kill_one(site)
        saving.join(20)
        assert [answer.status for answer in answers] == [0]
        if kind == "postgresql":  # the server itself finds out when it has slept
            base.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
        base.ask(AGAIN[kind])
        assert state(base, slug) == before
        assert base.one(WHOLE) == 0
        wait_until(lambda: site.send("/healthz").status == 200, "another process answers")
        assert save(site, slug, "One word more.").status == 302
        assert state(base, slug)[0] == int(str(before[0])) + 1


def test_kills_at_any_moment_leave_every_word_whole_and_every_confirmed_word_there(base: Base) -> None:
    slug, draw = base.one(SLUG), random.Random(7)
    confirmed = []
    with web(base) as site:
        site.send(f"/cases/{slug}/")
        for number in range(6):
            answers: list[Answer] = []
            words = f"Word number {number}."

            def saving(words: str = words, answers: list[Answer] = answers) -> None:
                answers.append(save(site, slug, words))

            thread = threading.Thread(target=saving)
            thread.start()
            time.sleep(draw.uniform(0, 0.4))
            kill_one(site)
            thread.join(20)
            wait_until(lambda: site.send("/healthz").status == 200, "another process answers")
            assert base.one(WHOLE) == 0
            if answers[0].status == 302:
                confirmed.append(words)
        text = base.one(f"SELECT text FROM kb_document WHERE slug = '{slug}'")
    assert [words for words in confirmed if words not in text] == []


def test_a_request_in_flight_is_answered_when_the_server_is_asked_to_end(sqlite: Base) -> None:
    body = b"CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    with web(sqlite) as site, socket.create_connection(("127.0.0.1", site.port), 20) as line:
        line.sendall(
            b"POST /diagnose HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body[:9])
        )
        time.sleep(1)
        os.kill(site.process.pid, signal.SIGTERM)
        time.sleep(1)
        line.sendall(body[9:])
        came = b""
        while chunk := line.recv(65536):
            came += chunk
        assert came.startswith(b"HTTP/1.1 200"), came[:200]
        assert site.process.process.wait(PATIENCE) == 0
