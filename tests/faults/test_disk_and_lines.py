"""A full disk, and visitors on slow lines."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.ground import TOKEN, Base, wait_until, web
from tests.faults.test_web_dies import SLUG, WHOLE, edit, save, state
from tests.live import missing

pytestmark = pytest.mark.service


@pytest.fixture
def small_disk(prepared_sqlite: Base, tmp_path: Path) -> Iterator[Base]:
    """A disk of its own that holds the base and little more."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if (
        os.getuid()
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", folder], capture_output=True).returncode
    ):
        missing("SERVICES", "a small disk cannot be mounted here: run as root, with the right to mount.")
    try:
        shutil.copytree(prepared_sqlite.state, folder, dirs_exist_ok=True)
        yield Base({"HEADROOM_STATE": str(folder)}, prepared_sqlite.session)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Takes all the room there is."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                continue
    return ballast


def test_a_full_disk_is_told_of_and_nothing_is_saved_by_half(small_disk: Base) -> None:
    slug = small_disk.one(SLUG)
    with web(small_disk) as site:
        assert save(site, slug, "There was room for this.").status == 302
        before, form = state(small_disk, slug), edit(small_disk, slug, "x" * 40_000)
        ballast = fill(small_disk.state)
        refused = site.send(f"/cases/{slug}/edit/", form)
        assert refused.status == 503
        assert "The disk of this site" in refused.body
        assert "x" * 40_000 in refused.body
        page = site.send(f"/cases/{slug}/")  # SQLite takes some room even to read
        assert page.status == 200 or "The disk of this site" in page.body
        ballast.unlink()
        assert state(small_disk, slug) == before
        assert small_disk.one(WHOLE) == 0
        assert site.diagnose().status == 200
        assert site.send(f"/cases/{slug}/edit/", form).status == 302


def test_an_upload_that_finds_no_room_is_told_so(sqlite: Base, tmp_path: Path) -> None:
    part = (
        b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.log"\r\n\r\n'
        + b"x" * 3_000_000
        + b"\r\n--b--\r\n"
    )
    small = ("prlimit", "--fsize=1000000", "--")  # no file of this process may grow beyond a megabyte
    if not shutil.which("prlimit"):
        missing("SERVICES", "prlimit is not installed: apt install util-linux.")
    with web(sqlite, wrap=small) as site, socket.create_connection(("127.0.0.1", site.port), 20) as line:
        head = "POST /result/ HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n"
        head += f"Cookie: csrftoken={TOKEN}\r\n"
        kind = f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {len(part)}\r\n\r\n"
        line.sendall(f"{head}{kind}".encode() + part)
        came = b""
        while chunk := line.recv(65536):
            came += chunk
    assert came.startswith(b"HTTP/1.1 503"), came[:300]
    assert b"The disk of this site is full" in came


def test_visitors_on_slow_lines_do_not_hold_up_the_others(sqlite: Base) -> None:
    with web(sqlite, workers=2) as site:
        lines = []
        for number in range(6):
            line = socket.create_connection(("127.0.0.1", site.port), 20)
            line.sendall(b"POST /diagnose HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nCUDA out")
            lines.append(line)
            reader = socket.create_connection(("127.0.0.1", site.port), 20)
            reader.sendall(b"GET /cases/ HTTP/1.1\r\nHost: localhost\r\n\r\n" if number % 2 else b"GET /ca")
            lines.append(reader)
        time.sleep(1)
        for _ in range(20):
            assert site.send("/healthz").status == 200
            assert site.diagnose().status == 200
        for line in lines:
            line.close()
        wait_until(lambda: site.diagnose().status == 200, "it goes on")
