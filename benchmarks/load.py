"""Two web workers under eight visitors: ``python benchmarks/load.py [seconds [pause]]`` on the base of ``DATABASE_URL``.

Fill that base first: ``python manage.py migrate``, ``load_content`` and ``python benchmarks/many.py 100000``. Each visitor pastes one
time in four, three of four times into the form of a browser, which gets the page, and once from a shell, which gets text. Else they
open a case, the list, a search or the first page. Answers come compressed, as browsers ask for them, but for the shell's. Then they
read for ``pause`` seconds on average, 0.5 unless told. With 0
the next request leaves at once, and eight visitors who never read saturate two cores: those figures are a queue's. Prints per kind how
many, p50 and p99 in milliseconds, everything that was not 200, and the memory of the web processes before and after; beside it the
processor time that one answer costs them, which other work on the machine does not change.
"""

from __future__ import annotations

import http.client
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from config.serve import web_command  # noqa: E402

VISITORS, WORKERS = 8, 2
PASTES = [path.read_bytes() for path in sorted((ROOT / "tests/pastes").glob("*/paste.txt"))]
TICK = os.sysconf("SC_CLK_TCK")
WEIGHTS = {"paste": 3, "shell": 1, "case": 6, "list": 2, "search": 2, "first": 2}
TOKEN = "headroom" * 4  # of the form against forgery: what the cookie says too
PLAIN = {"Accept": "text/html"}
BROWSER = {**PLAIN, "Accept-Encoding": "gzip"}
FORM = {**BROWSER, "Content-Type": "application/x-www-form-urlencoded", "Cookie": f"csrftoken={TOKEN}"}
PAGES = {
    "case": lambda draw: f"/cases/made-{draw.randrange(1000)}/",
    "list": lambda draw: f"/cases/?kind={draw.choice(('gpu_oom', 'host_ram'))}",
    "search": lambda draw: f"/search/?q={draw.choice(('memka3', 'rolu17', 'host+ram', 'offload'))}",
    "first": lambda draw: "/",
}


@contextmanager
def serving(base: Path | None = None) -> Iterator[tuple[list[str], int]]:
    """The site as ``make run`` serves it, on ``DATABASE_URL`` or the state folder ``base``; the ids of its web processes, and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as state:
        around = {**os.environ, "HEADROOM_STATE": str(base or state)}
        subprocess.run([sys.executable, "-c", GATHER], cwd=ROOT, env=around, check=True)
        server = subprocess.Popen(web_command("127.0.0.1", port, WORKERS), cwd=ROOT, env=around)
        try:
            ask(port, "/healthz", None, 60)
            yield Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split(), port
        finally:
            server.terminate()
            server.wait(30)


GATHER = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
import django
django.setup()
from django.conf import settings
from config import static_files
static_files.gather(settings.STATIC_ROOT)
"""


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 120
    pause = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
    with serving() as (workers, port):
        warm(port)
        measure(workers, port, seconds, pause)


def measure(workers: list[str], port: int, seconds: float, pause: float) -> None:
    before, spent = [memory(pid) for pid in workers], sum(processor(pid) for pid in workers)
    took: dict[str, list[float]] = defaultdict(list)
    wrong: Counter[str] = Counter()
    until = time.monotonic() + seconds
    visitors = [
        threading.Thread(target=visit, args=(port, until, pause, seed, took, wrong)) for seed in range(VISITORS)
    ]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    answers = sum(map(len, took.values()))
    for kind, times in took.items():
        print(f"{kind:8} {len(times):7,} answers   p50 {share(times, 0.5):7.1f} ms   p99 {share(times, 0.99):7.1f} ms")
    spent = sum(processor(pid) for pid in workers) - spent
    each = 1000 * spent / max(answers, 1)
    print(f"{answers / seconds:.0f} answers/s, {each:.1f} ms of processor an answer; not 200: {dict(wrong) or 'none'}")
    print(f"memory of the web processes: {before} MiB before, {[memory(pid) for pid in workers]} MiB after")


def warm(port: int) -> None:
    """Both processes have read the knowledge and every kind of page before anything is measured."""
    draw = random.Random(0)
    for _ in range(4 * WORKERS):
        for kind in PAGES:
            ask(port, PAGES[kind](draw), None, 600)
        for paste in PASTES:
            send(port, "paste", paste, 600)
            send(port, "shell", paste, 600)


def visit(port: int, until: float, pause: float, seed: int, took: dict[str, list[float]], wrong: Counter[str]) -> None:
    draw = random.Random(seed)
    while time.monotonic() < until:
        time.sleep(draw.uniform(0, 2 * pause))
        kind = draw.choices(list(WEIGHTS), weights=list(WEIGHTS.values()))[0]
        paste = draw.choice(PASTES) + b"\nloss %d" % draw.randrange(10**9)
        path = PAGES[kind](draw) if kind in PAGES else ""
        began = time.perf_counter()
        status = ask(port, path, None, 60, BROWSER) if path else send(port, kind, paste, 60)
        took[kind].append(1000 * (time.perf_counter() - began))
        if status != 200:
            wrong[f"{kind} {status}"] += 1


def send(port: int, kind: str, paste: bytes, wait: float) -> int:
    """Posts a paste as the form of the first page does, or as a shell."""
    if kind == "shell":
        return ask(port, "/diagnose", paste, wait, {})
    return ask(port, "/result/", urlencode({"csrfmiddlewaretoken": TOKEN, "paste": paste}).encode(), wait, FORM)


def ask(port: int, path: str, body: bytes | None, wait: float, headers: Mapping[str, str] = PLAIN) -> int:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=wait)
    for _ in range(100):
        try:
            line.request("POST" if body else "GET", path, body, headers)
            answer = line.getresponse()
            answer.read()
            return answer.status
        except ConnectionRefusedError:  # not up yet
            time.sleep(0.2)
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            line.close()
    return 0


def share(times: list[float], part: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def memory(pid: str) -> int:
    """MiB that are really held."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") >> 20


def processor(pid: str) -> float:
    """Seconds of processor time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


if __name__ == "__main__":
    main()
