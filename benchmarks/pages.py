"""A case page and a search under ``wrk``: ``python benchmarks/pages.py [seconds]`` on the base of ``DATABASE_URL``, filled as for load.py.

Two web workers, eight connections, one kind of page after the other. Prints what wrk says of latency and answers a second, and beside it
the processor time of the web processes for one answer, which other work on the machine does not change.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

from load import ask, processor, serving, warm

PAGES = ("/cases/made-7/", "/search/?q=memka3", "/search/?q=offload", "/healthz")


def main() -> None:
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    if not shutil.which("wrk"):
        sys.exit("wrk is not installed: apt install wrk.")
    with serving() as (workers, port):
        warm(port)
        for path in PAGES:
            assert ask(port, path, None, 60) == 200, path
            spent = sum(processor(pid) for pid in workers)
            command = ["wrk", "-t2", "-c8", f"-d{seconds}s", "--latency", f"http://127.0.0.1:{port}{path}"]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            told = {line.split()[0]: line.split()[-1] for line in said.splitlines() if line.strip()}
            answers = next(int(line.split()[0]) for line in said.splitlines() if "requests in" in line)
            each = 1000 * (sum(processor(pid) for pid in workers) - spent) / max(answers, 1)
            wrong = [line.strip() for line in said.splitlines() if "Non-2xx" in line or "errors" in line]
            latency = f"p50 {told['50%']:>9}   p99 {told['99%']:>9}"
            print(f"{path:22} {told['Requests/sec:']:>9} /s   {latency}   {each:.1f} ms of processor {wrong or ''}")


if __name__ == "__main__":
    main()
