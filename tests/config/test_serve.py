"""``make run``: the real server, the real worker, a real Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.live import PATIENCE, ROOT, Site, environment, start_site


def processes_of(state: Path) -> list[str]:
    """Command lines of the processes that run with this state folder, this one's zombies left out."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(state).encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return [line for line in found if line]


def serve(state: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A start that is expected to be refused."""
    command = [sys.executable, "-m", "config.serve"]
    return subprocess.run(
        command, cwd=ROOT, env=environment(state, **variables), capture_output=True, text=True, timeout=PATIENCE
    )


def test_it_refuses_a_taken_port_and_names_the_cure(state_folder: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        refused = serve(state_folder, PORT=str(port))
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert f"Port {port}" in refused.stderr
    assert f"PORT={port + 1}" in refused.stderr


@pytest.mark.parametrize(
    ("variables", "cure"),
    [
        ({"PORT": "eighty"}, "PORT is “eighty”: write a whole number from 1 to 65535."),
        ({"HOST": "no such host"}, "HOST is “no such host”: no such address."),
        ({"DATABASE_URL": "mysql://here/db"}, "DATABASE_URL is “mysql://here/db”: write postgres://"),
        ({"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}, "does not answer: start it, mend DATABASE_URL"),
    ],
)
def test_it_refuses_what_cannot_work_in_one_line(state_folder: Path, variables: dict[str, str], cure: str) -> None:
    refused = serve(state_folder, **variables)
    assert refused.returncode == 2
    assert cure in refused.stderr
    assert "Traceback" not in refused.stderr


def test_it_answers_and_leaves_no_process_behind(prepared_folder: Path) -> None:
    site = start_site(prepared_folder)
    assert site.get("/healthz") == (200, '{"status": "ok"}')
    running = processes_of(prepared_folder)
    assert any("gunicorn" in line for line in running)
    assert any("celery" in line for line in running)
    assert site.stop(signal.SIGTERM) == 0
    assert processes_of(prepared_folder) == []


def test_it_ends_when_the_web_server_dies(prepared_folder: Path) -> None:
    site = start_site(prepared_folder)
    kill_child(site, "gunicorn")
    assert site.process.wait(PATIENCE) == 1
    assert "The web server ended by signal 9: stopping." in site.said()
    assert processes_of(prepared_folder) == []


def test_it_starts_a_dead_worker_again(prepared_folder: Path) -> None:
    site = start_site(prepared_folder)
    first = kill_child(site, "celery")
    deadline = time.monotonic() + PATIENCE
    while child_of(site.process.pid, "celery") in (0, first) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert child_of(site.process.pid, "celery") not in (0, first)
    assert "The worker ended by signal 9: again in 2 s." in site.said()
    site.stop()
    assert processes_of(prepared_folder) == []


def test_the_first_start_offers_a_link_that_makes_an_admin(state_folder: Path) -> None:
    assert_offers_a_link(start_site(state_folder), r"http://127\.0\.0\.1:\d+")


def test_another_start_keeps_what_is_there_and_offers_a_link_at_the_address_of_the_site(prepared_folder: Path) -> None:
    secret = (prepared_folder / "secret").read_text()
    gathered = (prepared_folder / "static" / ".digest").stat().st_mtime_ns
    assert_offers_a_link(start_site(prepared_folder, SITE_URL="https://wiki.example"), "https://wiki.example")
    assert (prepared_folder / "secret").read_text() == secret
    assert (prepared_folder / "static" / ".digest").stat().st_mtime_ns == gathered


def assert_offers_a_link(site: Site, address: str) -> None:
    """And that Ctrl-C ends all of it."""
    link = re.search(rf"Become an admin .*: {address}(/setup/\S+/)", site.said())
    assert link
    status, body = site.get(link[1])
    assert site.stop(signal.SIGINT) == 0
    assert processes_of(site.state) == []
    assert status == 200
    assert 'type="password"' in body


def child_of(parent: int, word: str) -> int:
    """The direct child whose command line holds ``word``; 0 when there is none."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    for child in children:
        if word in Path(f"/proc/{child}/cmdline").read_text():
            return int(child)
    return 0


def kill_child(site: Site, word: str) -> int:
    """Kills that child as the kernel would when memory runs out; its id."""
    pid = child_of(site.process.pid, word)
    assert pid > 0
    os.kill(pid, signal.SIGKILL)
    return pid
