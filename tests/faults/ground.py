"""What the site stands on, as processes that a test may kill: a Redis and a PostgreSQL of its own, web server and worker."""

from __future__ import annotations

import http.client
import os
import pwd
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from config.serve import web_command
from tests.live import PATIENCE, ROOT, environment, free_port, missing

SECRET_KEY = "only-for-the-tests-of-faults-and-long-enough"
TOKEN = "t" * 32  # against forged forms: the same in the cookie and in the form


@dataclass
class Base:
    """A database with what ships and an editor who is signed in."""

    variables: dict[str, str]
    session: str

    @property
    def state(self) -> Path:
        return Path(self.variables["HEADROOM_STATE"])

    def connect(self) -> Any:
        """A connection of the test's own; every statement stands at once."""
        if url := self.variables.get("DATABASE_URL"):
            return psycopg.connect(url, autocommit=True, connect_timeout=3)
        return sqlite3.connect(self.state / "headroom.sqlite3", isolation_level=None, timeout=20)

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        database = self.connect()
        try:
            cursor = database.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []
        finally:
            database.close()

    def one(self, statement: str) -> Any:
        return self.ask(statement)[0][0]

    def environment(self, **more: str) -> dict[str, str]:
        variables = {"SECRET_KEY": SECRET_KEY, **self.variables, **more}
        return environment(self.state, **{name: text for name, text in variables.items() if name != "HEADROOM_STATE"})

    def manage(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return self.run([sys.executable, "manage.py", *words], **variables)

    def run(self, command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=ROOT, env=self.environment(**variables), capture_output=True, text=True, timeout=PATIENCE
        )

    def copy_cases(self, count: int) -> int:
        """So many more cases with the texts of those that ship, without estimates; how many there are."""
        shipped = self.one("SELECT count(*) FROM kb_document WHERE kind = 'cases'")
        database = self.connect()
        names = [column[0] for column in database.execute("SELECT * FROM kb_document LIMIT 0").description]
        database.close()
        names.remove("id")
        values = ["slug || '-' || i" if name == "slug" else name for name in names]
        self.ask(
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {-(-count // shipped)}) "
            f"INSERT INTO kb_document ({', '.join(names)}) SELECT {', '.join(values)} FROM kb_document, n WHERE kind = 'cases'"
        )
        return int(self.one("SELECT count(*) FROM kb_document WHERE kind = 'cases'"))


@dataclass
class Process:
    """A process of the site that leads its own group; its words go to a file."""

    process: subprocess.Popen[bytes]
    output: Path

    @classmethod
    def start(cls, command: list[str], variables: Mapping[str, str], output: Path) -> Process:
        with output.open("ab") as file:
            started = subprocess.Popen(
                command, cwd=ROOT, env=dict(variables), start_new_session=True, stdout=file, stderr=subprocess.STDOUT
            )
        return cls(started, output)

    @property
    def pid(self) -> int:
        return self.process.pid

    def children(self) -> list[int]:
        return [int(word) for word in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def kill(self) -> None:
        """As the kernel does when memory runs out: the whole group, without a word."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)

    def said(self) -> str:
        return self.output.read_text(errors="replace")


@dataclass(frozen=True)
class Answer:
    """What came back; ``status`` is 0 where the connection broke before an answer did."""

    status: int
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Web:
    """gunicorn as ``make run`` starts it."""

    process: Process
    port: int
    base: Base

    def send(
        self,
        path: str,
        form: Mapping[str, str] | bytes | None = None,
        accept: str = "text/html",
        wait: float = PATIENCE,
        token: str = "",
    ) -> Answer:
        """Asks as the editor who is signed in."""
        shown = {"Authorization": f"Bearer {token}"} if token else {}
        headers = {**shown, "Accept": accept, "Cookie": f"sessionid={self.base.session}; csrftoken={TOKEN}"}
        body: bytes | None = form if isinstance(form, bytes) else None
        if form is not None and body is None:
            body = urllib.parse.urlencode({**form, "csrfmiddlewaretoken": TOKEN}).encode()  # type: ignore[dict-item]
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=wait)
        try:
            connection.request("GET" if form is None else "POST", path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.read().decode(), dict(answer.headers))
        except (OSError, http.client.HTTPException):
            return Answer(0)
        finally:
            connection.close()

    def diagnose(self, text: str = "CUDA out of memory. Tried to allocate 2.00 GiB.") -> Answer:
        return self.send("/diagnose", text.encode(), accept="*/*")


@contextmanager
def web(base: Base, workers: int = 1, wrap: tuple[str, ...] = (), **variables: str) -> Iterator[Web]:
    port = free_port()
    command = [*wrap, *web_command("127.0.0.1", port, workers)]
    process = Process.start(command, base.environment(**variables), base.state / "web.txt")
    site = Web(process, port, base)
    try:
        wait_until(lambda: site.send("/healthz").status == 200, "the web server answers", process)
        yield site
    finally:
        process.kill()


@contextmanager
def worker(base: Base, concurrency: int = 1, app: str = "config", **variables: str) -> Iterator[Process]:
    """A Celery worker as docker-compose.yml starts it."""
    flags = ["--concurrency", str(concurrency), "--loglevel", "INFO", "--without-gossip", "--without-mingle"]
    command = [sys.executable, "-m", "celery", "--app", app, "worker", *flags]
    process = Process.start(command, base.environment(**variables), base.state / "worker.txt")
    try:
        wait_until(lambda: " ready." in process.said(), "the worker is ready", process)
        yield process
    finally:
        process.kill()


@dataclass
class Redis:
    """A Redis of the test's own, which forgets everything when it dies."""

    port: int
    folder: Path
    process: Process | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        flags = f"--port {self.port} --bind 127.0.0.1 --dir {self.folder} --save".split()
        self.process = Process.start([found("redis-server"), *flags, ""], os.environ, self.folder / "redis.txt")
        wait_until(lambda: "Ready to accept" in self._said(), "Redis is ready", self.process)

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.output.unlink()

    def _said(self) -> str:
        return self.process.said() if self.process and self.process.output.exists() else ""


@dataclass
class Cluster:
    """A PostgreSQL server of the test's own."""

    port: int
    folder: Path

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def make(self) -> None:
        self._run("initdb", "-D", str(self.folder), "-A", "trust", "-U", "postgres", "-N")

    def start(self) -> None:
        flags = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} -c fsync=off"
        words = ("start", "-w", "-D", str(self.folder), "-o", flags, "-l", str(self.folder / "log.txt"))
        for _ in range(20):  # what a killed server held may take a moment to be free: whoever runs one starts it again
            try:
                return self._run("pg_ctl", *words)
            except RuntimeError:
                time.sleep(0.5)
        self._run("pg_ctl", *words)

    def kill(self) -> None:
        """Every process of it at once, as when the machine dies."""
        pids = [int((self.folder / "postmaster.pid").read_text().split()[0])]
        os.kill(pids[0], signal.SIGSTOP)  # so that it makes no other while its children are listed
        pids += [int(word) for word in Path(f"/proc/{pids[0]}/task/{pids[0]}/children").read_text().split()]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(alive(pid) for pid in pids), "PostgreSQL is gone")

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(self.folder), check=False)

    def _run(self, name: str, *words: str, check: bool = True) -> None:
        as_who = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
        done = subprocess.run(
            [found(name), *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE, **as_who
        )  # fmt: skip
        if check and done.returncode:
            raise RuntimeError(done.stderr.decode())


def found(name: str) -> str:
    """The program; PostgreSQL's lie in a folder of their version on Debian."""
    for folder in ("", *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))):
        if path := shutil.which(name, path=folder or None):
            return path
    missing("SERVICES", f"{name} is not installed: apt install postgresql redis-server.")


def give_to_postgres(folder: Path) -> None:
    """PostgreSQL does not run as root."""
    if os.getuid() == 0:
        person = pwd.getpwnam("postgres")
        os.chown(folder, person.pw_uid, person.pw_gid)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(true: Callable[[], bool], what: str, process: Process | None = None, seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline or (process and process.process.poll() is not None):
            raise AssertionError(f"not: {what}\n{process.said()[-3000:] if process else ''}")
        time.sleep(0.05)
