"""What machines see of a running site: health, readiness, figures and the log, none of which tells what was pasted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from tests.live import PATIENCE, Site, start_site

TOKEN = "only-for-the-figures"
SECRET_WORDS = "CUDA out of memory in unheardof_trainer"


@pytest.mark.django_db
def test_a_site_without_its_migrations_is_not_ready(client: Client) -> None:
    assert client.get("/readyz").status_code == 200
    MigrationRecorder(connection).migration_qs.filter(app="kb").order_by("name").last().delete()
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "run manage.py migrate" in answer.json()["why"]


@pytest.mark.django_db
def test_without_a_token_in_the_settings_there_are_no_figures(client: Client) -> None:
    assert client.get("/metrics").status_code == 404
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


@pytest.mark.django_db
def test_a_broker_that_is_gone_does_not_make_the_site_unready(client: Client, settings: object) -> None:
    from config.celery import app

    before = app.conf.broker_url
    app.conf.broker_url = "redis://127.0.0.1:1/0"
    app.set_current()
    try:
        answer = client.get("/readyz")
    finally:
        app.conf.broker_url = before
    assert answer.status_code == 200


@pytest.fixture(scope="module")
def watched(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Site:
    state = Path(shutil.copytree(prepared, tmp_path_factory.mktemp("state"), dirs_exist_ok=True))
    site = start_site(state, METRICS_TOKEN=TOKEN, LOG_FORMAT="JSON", LOG_LEVEL="INFO")
    yield site
    site.stop()


def ask(site: Site, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str, str]:
    """Status, body and request id."""
    request = urllib.request.Request(site.url + path, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode(), answer.headers["X-Request-ID"]
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read().decode(), answer.headers["X-Request-ID"]


def test_the_figures_count_requests_and_stages_over_all_processes(watched: Site) -> None:
    assert ask(watched, "/metrics", Authorization="Bearer wrong")[0] == 404
    for _ in range(6):
        ask(watched, "/diagnose", SECRET_WORDS.encode())
    status, page, _ = ask(watched, "/metrics", Authorization=f"Bearer {TOKEN}")
    assert status == 200
    lines = dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
    assert float(lines['headroom_requests_total{method="POST",page="wizard:shell",status="200"}']) == 6
    for stage in ("read", "facts", "estimate", "match", "prescribe", "questions"):
        assert float(lines[f'headroom_diagnosis_seconds_count{{stage="{stage}"}}']) >= 6
    assert float(lines["headroom_database_answers"]) == 1
    assert {"headroom_stale_estimates", "headroom_stale_seconds", "headroom_unmailed_notices"} <= lines.keys()


def test_a_web_process_that_was_killed_is_told_of_as_one_object_too(watched: Site) -> None:
    os.kill(web_process(watched), signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while "was sent SIGKILL" not in watched.said():
        assert time.monotonic() < deadline, watched.said()
        time.sleep(0.1)
    line = next(line for line in watched.said().splitlines() if "was sent SIGKILL" in line)
    told = json.loads(line)
    assert (told["level"], told["logger"], told["request"]) == ("error", "gunicorn.error", "-")


def web_process(site: Site) -> int:
    """One of gunicorn's."""
    return children_of(next(child for child in children_of(site.process.pid) if "gunicorn" in command_of(child)))[0]


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def test_the_log_is_one_object_a_line_with_the_request_and_without_what_was_pasted_or_asked(watched: Site) -> None:
    _, _, own = ask(watched, "/diagnose", SECRET_WORDS.encode(), **{"X-Request-ID": "from-the-proxy-1"})
    assert own == "from-the-proxy-1"
    _, _, drawn = ask(watched, "/result/?host_ram_gb=512", **{"X-Request-ID": "bad id\twith blanks"})
    assert drawn != "bad id\twith blanks"
    refused = ask(watched, "/saved/nothing/the-key-of-its-owner/", **{"X-Request-ID": "asked-for-nothing"})
    assert refused[0] == 404
    said = watched.said()
    assert "the-key-of-its-owner" not in said
    told = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    line = next(line for line in told if line["request"] == "from-the-proxy-1")
    assert (line["page"], line["method"], line["status"]) == ("wizard:shell", "POST", 200)
    assert line["ms"] > 0
    lines = [line["logger"] for line in told if line["request"] == "asked-for-nothing"]
    assert lines == ["headroom.requests", "django.request"]
    assert "unheardof_trainer" not in said
    assert "host_ram_gb" not in said
    assert Path(watched.state / "metrics").is_dir()
