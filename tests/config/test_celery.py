"""A real worker process does the work that the database lists, with Redis and without any server."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from config.serve import worker_command
from tests.live import ROOT, environment


def manage(state: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment(state, **variables), capture_output=True, text=True, timeout=60
    )


@contextmanager
def worker(state: Path, **variables: str) -> Iterator[None]:
    """The worker as ``make run`` starts it."""
    process = subprocess.Popen(
        worker_command(),
        cwd=ROOT,
        env=environment(state, **variables),
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def estimated(state: Path) -> int:
    with sqlite3.connect(state / "headroom.sqlite3") as database:
        return int(database.execute("SELECT count(*) FROM kb_caseestimate WHERE moment = 'as it failed'").fetchone()[0])


def loaded(state: Path) -> int:
    with sqlite3.connect(state / "headroom.sqlite3") as database:
        return int(database.execute("SELECT count(*) FROM kb_document WHERE kind = 'cases'").fetchone()[0])


def wait_for_estimates(state: Path, seconds: float = 45) -> None:
    deadline = time.monotonic() + seconds
    while estimated(state) < loaded(state) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert estimated(state) == loaded(state) > 0


def test_loading_goes_on_when_the_broker_does_not_answer(state_folder: Path) -> None:
    dead = {"REDIS_URL": "redis://127.0.0.1:1/0"}
    manage(state_folder, "migrate", "-v0", **dead)
    done = manage(state_folder, "load_content", **dead)
    assert done.returncode == 0, done.stderr
    assert "the estimates follow within ten minutes" in done.stderr
    assert loaded(state_folder) > 0


def test_a_worker_without_any_server_does_what_was_asked_before_it_started(state_folder: Path) -> None:
    manage(state_folder, "migrate", "-v0")
    assert manage(state_folder, "load_content").returncode == 0
    with worker(state_folder):
        wait_for_estimates(state_folder)


@pytest.mark.service
def test_a_worker_on_redis_does_what_it_is_asked(state_folder: Path, redis_url: str) -> None:
    manage(state_folder, "migrate", "-v0", REDIS_URL=redis_url)
    with worker(state_folder, REDIS_URL=redis_url):
        assert manage(state_folder, "load_content", REDIS_URL=redis_url).returncode == 0
        wait_for_estimates(state_folder)


@pytest.mark.service
def test_servers_that_start_together_on_one_new_postgresql_all_come_up(state_folder: Path, postgres_url: str) -> None:
    prepare = [sys.executable, "-c", "from config import serve; serve.prepare('http://127.0.0.1')"]
    around = {"DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": postgres_url}
    folders = [state_folder / name for name in ("one", "two", "three")]
    started = [
        subprocess.Popen(prepare, cwd=ROOT, env=environment(folder, **around), stderr=subprocess.PIPE, text=True)
        for folder in folders
    ]
    said = [process.communicate(timeout=180)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], said


def test_the_site_migrates_and_loads_on_postgresql(state_folder: Path, postgres_url: str) -> None:
    import psycopg

    assert manage(state_folder, "migrate", "-v0", DATABASE_URL=postgres_url).returncode == 0
    done = manage(state_folder, "load_content", DATABASE_URL=postgres_url)
    again = manage(state_folder, "load_content", DATABASE_URL=postgres_url)
    assert " new, 0 updated, 0 unchanged" in done.stdout
    assert "Cases and guides: 0 new, 0 updated" in again.stdout
    with psycopg.connect(postgres_url) as database:
        row = database.execute("SELECT count(*) FROM kb_document WHERE kind = 'cases'").fetchone()
    assert row
    assert row[0] > 0
