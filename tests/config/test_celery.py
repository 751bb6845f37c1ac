"""A real worker process does the work that the database lists, with Redis and without any server."""

from __future__ import annotations

import os
import re
import shutil
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
from tests.live import PATIENCE, ROOT, environment


def manage(state: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment(state, **variables), capture_output=True, text=True, timeout=PATIENCE
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


def wait_for_estimates(state: Path, seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while estimated(state) < loaded(state) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert estimated(state) == loaded(state) > 0


@pytest.fixture(scope="module")
def loaded_alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A base that was loaded while no broker answered, and what loading said."""
    state, dead = tmp_path_factory.mktemp("state"), {"REDIS_URL": "redis://127.0.0.1:1/0"}
    manage(state, "migrate", "-v0", **dead)
    return state, manage(state, "load_content", **dead)


@pytest.fixture
def waiting(loaded_alone: tuple[Path, subprocess.CompletedProcess[str]], state_folder: Path) -> Path:
    """A copy of that base, whose estimates nobody has made."""
    return Path(shutil.copytree(loaded_alone[0], state_folder, dirs_exist_ok=True))


def test_loading_goes_on_when_the_broker_does_not_answer(
    loaded_alone: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    state, done = loaded_alone
    assert done.returncode == 0, done.stderr
    assert "the estimates follow within ten minutes" in done.stderr
    assert loaded(state) > 0


def test_whoever_saves_does_not_wait_for_a_broker_that_is_away(state_folder: Path) -> None:
    timed = "import time; from kb import tasks; began = time.monotonic(); print(tasks.wake(), time.monotonic() - began)"
    done = manage(state_folder, "shell", "--no-imports", "-c", timed, REDIS_URL="redis://127.0.0.1:1/0")
    woken, seconds = done.stdout.split()
    assert woken == "False"
    assert float(seconds) < 4, "one try alone: asking again and again took six seconds of every save"


def test_a_worker_without_any_server_does_what_was_asked_before_it_started(waiting: Path) -> None:
    assert manage(waiting, "load_content").returncode == 0
    assert estimated(waiting) == 0
    with worker(waiting):
        wait_for_estimates(waiting)


@pytest.mark.service
def test_a_worker_on_redis_does_what_it_is_asked(waiting: Path, redis_url: str) -> None:
    with worker(waiting, REDIS_URL=redis_url):
        assert manage(waiting, "load_content", REDIS_URL=redis_url).returncode == 0
        wait_for_estimates(waiting)


@pytest.mark.service
def test_of_servers_that_start_together_on_one_new_postgresql_one_loads_it_and_all_come_up(
    state_folder: Path, postgres_url: str
) -> None:
    import psycopg

    prepare = [sys.executable, "-c", "from config import serve; serve.prepare('http://127.0.0.1')"]
    around = {"DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": postgres_url}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    started = [
        subprocess.Popen(prepare, cwd=ROOT, env=environment(state_folder / name, **around), text=True, **pipes)
        for name in ("one", "two", "three")
    ]
    said = [process.communicate(timeout=180) for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], said
    with psycopg.connect(postgres_url) as database:
        row = database.execute("SELECT count(*) FROM kb_document WHERE kind IN ('cases', 'guides')").fetchone()
    assert row
    assert row[0] > 0
    told = sorted(re.findall(r"Cases and guides: (\d+) new, 0 updated, (\d+) unchanged", out)[0] for out, _ in said)
    assert told == sorted([(str(row[0]), "0"), *[("0", str(row[0]))] * 2])
