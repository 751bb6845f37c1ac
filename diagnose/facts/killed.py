"""What the worker held that Ray killed: its row in the table of processes, where the message itself does not say it."""

from __future__ import annotations

import re

from diagnose.facts.prose import span_of
from diagnose.types import Fact, Paste

_KILLED = re.compile(r"\bpid=(?P<pid>\d{1,9})\) was running\b", re.A)
_ROW = re.compile(r"^\s*(?P<pid>\d{1,9})\s+(?P<size>\d[\d.]*)\s+\S", re.A)


def killed_worker(paste: Paste) -> Fact | None:
    """GiB of the killed process (the table prints them under the name GB)."""
    pids = {
        found["pid"] for line in paste.lines if "was running" in line.words and (found := _KILLED.search(line.words))
    }
    if len(pids) != 1:
        return None
    for line in paste.lines:
        row = _ROW.match(line.words)
        if row and row["pid"] in pids:
            return Fact("process_gib", float(row["size"]), "read", written=row["size"], span=span_of(line, row, "size"))
    return None
