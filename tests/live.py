"""The real site as a process of its own, for tests that need more than Django's client."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 120.0  # seconds until a wait for a server counts as a failure: a busy machine has needed over twenty for a first page


def missing(what: str, why: str) -> NoReturn:
    """Skips, or fails where ``HEADROOM_REQUIRE_<what>`` asks for it."""
    if os.environ.get(f"HEADROOM_REQUIRE_{what}") == "1":
        pytest.fail(f"{why} HEADROOM_REQUIRE_{what}=1 forbids to skip.", pytrace=False)
    pytest.skip(why)


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class Site:
    """The real site in a process of its own."""

    url: str
    state: Path
    process: subprocess.Popen[str]
    output: Path

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of a page."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.read().decode()

    def said(self) -> str:
        return self.output.read_text()

    def stop(self, number: int = signal.SIGINT) -> int:
        """Ends it as Ctrl-C would; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def environment(state: Path, **more: str) -> dict[str, str]:
    """The environment of a process of the site: nothing of this machine's own settings, a state folder of its own."""
    settings = re.findall(r"^(?:# )?([A-Z_]+)=", (ROOT / ".env.example").read_text(), flags=re.M)
    of_tests = "DJANGO_ALLOW_ASYNC_UNSAFE"  # set beside the browser, see tests/conftest.py
    kept = {name: value for name, value in os.environ.items() if name not in (*settings, of_tests)}
    return {**kept, "HEADROOM_STATE": str(state), "PYTHONUNBUFFERED": "1", **more}


def start_site(state: Path, **more: str) -> Site:
    """Starts ``python -m config.serve`` on a free port and waits until it says that it is there."""
    port = more.pop("PORT", "") or str(free_port())
    output = state / f"output-{uuid.uuid4().hex[:6]}.txt"
    with output.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "config.serve"],
            cwd=ROOT,
            env=environment(state, PORT=port, **more),
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
        )
    site = Site(f"http://127.0.0.1:{port}", state, process, output)
    deadline = time.monotonic() + PATIENCE
    while "Headroom is on" not in site.said():
        if process.poll() is not None or time.monotonic() > deadline:
            site.stop()
            pytest.fail(f"the site did not start:\n{site.said()}")
        time.sleep(0.05)
    return site
