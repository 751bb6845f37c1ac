"""A case page and a search under ``wrk``, beside django-wiki and datasette: ``python benchmarks/pages.py [documents] [seconds] [rounds]``.

All three hold the same documents (2,000 unless told) with equal text, on SQLite, in folders that are gone afterwards, each behind two
processes: ours as ``make run`` serves it, django-wiki behind gunicorn, datasette behind uvicorn. The peers are what PyPI gives,
pinned in ``peers/requirements.txt``, in an environment of their own in the cache folder. Eight connections ask for one page of one
of them after the other, and again in each round, so that other work on the machine meets all alike. “Made anew”
comes with a message waiting, so that our site gives no page that it keeps for visitors. One table: the median of the rounds, and the
processor time of the web processes for one answer, which other work changes least.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = tempfile.TemporaryDirectory(prefix="headroom-pages-")
STATE = Path(FOLDER.name)
os.environ["HEADROOM_STATE"] = FOLDER.name
os.environ.pop("DATABASE_URL", None)

from load import ask, processor, serving  # noqa: E402
from many import fill  # noqa: E402

from kb.models import Document  # noqa: E402

COMMON, RARE = "memka3", "rolu17"  # in nearly every document, in one of 150
CASE, ANEW = "case page", "case page, made anew"
PAGES = {CASE: "", ANEW: "", "search, a common word": COMMON, "search, a rare word": RARE}


@dataclass(frozen=True)
class Server:
    """One of the three; ``paths`` by the names of ``PAGES``."""

    name: str
    port: int
    root: int
    paths: dict[str, str]

    def spent(self) -> float:
        """Processor time of all its processes."""
        return sum(processor(pid) for pid in descendants(str(self.root)))


@dataclass(frozen=True)
class Measured:
    rate: float
    p50: float
    p99: float
    processor: float
    wrong: int


def main() -> None:
    count, seconds, rounds = (int(word) for word in (*sys.argv[1:], *("2000", "6", "3")[len(sys.argv) - 1 :]))
    if not shutil.which("wrk"):
        sys.exit("wrk is not installed: apt install wrk.")
    python = environment()
    write(count)
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(ours()), *(stack.enter_context(peer(python, name)) for name in PEERS)]
        found: dict[tuple[str, str], list[Measured]] = {}
        for server in servers:
            for name, path in server.paths.items():
                must_hold(server, name, path)
        for turn in range(rounds):
            for name in PAGES:
                for server in servers[turn % len(servers) :] + servers[: turn % len(servers)]:
                    found.setdefault((name, server.name), []).append(measure(server, name, seconds))
        tell(servers, found)


def environment() -> Path:
    """The peers' own Python, made once for these pins."""
    pins = HERE / "peers/requirements.txt"
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()[:12]
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / f"headroom-peers-{digest}"
    python = folder / "bin/python"
    if not (folder / "whole").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "-r", str(pins)], check=True)
        (folder / "whole").touch()
    return python


def write(count: int) -> None:
    """Our base, and the same documents as lines for the peers."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    for stand in fill(count):
        print(f"\r{stand} documents", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    with (STATE / "documents.jsonl").open("w") as lines:
        for row in Document.objects.order_by("pk").values("slug", "title", "summary", "framework", "text").iterator():
            lines.write(json.dumps(row) + "\n")


@contextlib.contextmanager
def ours() -> Iterator[Server]:
    paths = {name: f"/search/?q={word}" if word else "/cases/made-7/" for name, word in PAGES.items()}
    with serving(STATE) as (workers, port):
        master = Path(f"/proc/{workers[0]}/stat").read_text().rsplit(")", 1)[1].split()[1]
        yield Server("Headroom", port, int(master), paths)


PEERS = {
    "django-wiki": (
        "wiki_site.py",
        ["gunicorn", "--workers", "2", "django.core.wsgi:get_wsgi_application()", "--bind", "127.0.0.1:{port}"],
        "/made-7/",
        "/_search/?q={word}",
    ),
    "datasette": (
        "datasette_app.py",
        ["uvicorn", "--workers", "2", "datasette_app:app", "--port", "{port}", "--no-access-log"],
        "/documents/documents/made-7",
        "/documents/documents?_search={word}&_size=20",
    ),
}


@contextlib.contextmanager
def peer(python: Path, name: str) -> Iterator[Server]:
    """One of ``PEERS``, filled and served."""
    script, command, case, search = PEERS[name]
    around = {**os.environ, "PEERS_STATE": FOLDER.name, "DJANGO_SETTINGS_MODULE": "wiki_site"}
    print(f"filling {name}", file=sys.stderr)
    subprocess.run([str(python), script], cwd=HERE / "peers", env=around, check=True)
    port = free_port()
    words = [word.replace("{port}", str(port)) for word in command]
    with (STATE / f"{name}.log").open("w") as log:
        server = subprocess.Popen(
            [str(python), "-m", *words],
            cwd=HERE / "peers",
            env=around,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    paths = {key: search.replace("{word}", word) if word else case for key, word in PAGES.items()}
    try:
        yield Server(name, port, server.pid, paths)
    finally:
        server.terminate()
        server.wait(30)


def free_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def must_hold(server: Server, name: str, path: str) -> None:
    """A page that answers and holds what was asked for; both processes have made it a few times before anything is measured."""
    for _ in range(12):
        assert ask(server.port, path, None, 60) == 200, (server.name, path)
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}") as answer:
        body = answer.read().decode()
    word, case = PAGES[name], Document.objects.get(slug="made-7")
    if word:
        there = sum(bool(re.search(rf"\b{word}\b", text)) for text in Document.objects.values_list("text", flat=True))
        found = len(set(re.findall(r"/made-(\d+)", body)))
        assert found >= min(there, 20), f"{server.name}: {path} shows {found} of {there}"
    else:
        assert case.title in body, (server.name, "the page lacks its title")
        assert case.text.rsplit("\n\n", 2)[1][:200] in body, (server.name, "the page lacks its words")


def measure(server: Server, name: str, seconds: int) -> Measured:
    spent, header = server.spent(), ["-H", "Cookie: messages=none"] if name == ANEW else []
    address = f"http://127.0.0.1:{server.port}{server.paths[name]}"
    command = ["wrk", "-t1", "-c8", f"-d{seconds}s", "--latency", *header, address]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    told = {line.split()[0]: line.split()[-1] for line in said.splitlines() if line.strip()}
    answers = next(int(line.split()[0]) for line in said.splitlines() if "requests in" in line)
    wrong = sum(int(line.split()[-1]) for line in said.splitlines() if "Non-2xx" in line)
    each = 1000 * (server.spent() - spent) / max(answers, 1)
    return Measured(float(told["Requests/sec:"]), milliseconds(told["50%"]), milliseconds(told["99%"]), each, wrong)


def milliseconds(words: str) -> float:
    for unit, factor in (("us", 0.001), ("ms", 1.0), ("s", 1000.0)):
        if words.endswith(unit):
            return float(words.removesuffix(unit)) * factor
    raise ValueError(words)


def descendants(root: str) -> list[str]:
    """A process and everything that it started."""
    found = [root]
    for pid in found:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                found += (thread / "children").read_text().split()
    return found


def tell(servers: list[Server], found: dict[tuple[str, str], list[Measured]]) -> None:
    head = f"{'':24}{'':14}{'answers/s':>10}{'p50 ms':>9}{'p99 ms':>9}{'processor ms':>14}{'not 2xx':>9}{'bytes':>9}"
    print(head)
    for name in PAGES:
        for server in servers:
            rows = found[name, server.name]
            rate, p50, p99, each = (
                statistics.median(getattr(row, field) for row in rows) for field in ("rate", "p50", "p99", "processor")
            )
            wrong, size = sum(row.wrong for row in rows), length(server, server.paths[name])
            print(f"{name:24}{server.name:14}{rate:10.0f}{p50:9.1f}{p99:9.1f}{each:14.1f}{wrong:9}{size:9,}")


def length(server: Server, path: str) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}") as answer:
        return len(answer.read())


if __name__ == "__main__":
    main()
