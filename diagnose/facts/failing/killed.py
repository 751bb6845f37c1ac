"""What the process held that Ray or the kernel killed, and which kind of process holds most, where the message itself does not say so."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from diagnose.facts.sentences.prose import span_of
from diagnose.types import Fact, Paste, Span
from diagnose.units import GIB, KIB

_KILLED = re.compile(r"\bpid=(?P<pid>\d{1,9})\) was running\b", re.A)
_ROW = re.compile(r"^\s*(?P<pid>\d{1,9})\s+(?P<size>\d[\d.]*)\s+\S", re.A)
# torvalds/linux v6.8 mm/oom_kill.c: __oom_kill_process
_BY_KERNEL = re.compile(
    r"\bKilled process (?P<pid>\d{1,9}) \((?P<name>[^)\n]{1,40})\).{0,40}? anon-rss:(?P<anon>\d{1,12})kB, file-rss:(?P<file>\d{1,12})kB"
    r"(?:, shmem-rss:(?P<shm>\d{1,12})kB)?",
    re.A,
)


def killed_worker(paste: Paste) -> Fact | None:
    """GiB of the killed process; of several that the kernel killed the largest."""
    return _of_ray(paste) or _of_kernel(paste)


def _of_ray(paste: Paste) -> Fact | None:
    """Its row in the table of processes, which prints GiB under the name GB."""
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


# Ray's table: the class of an actor, else the program, or the script that an interpreter runs.
# ray.util.state and raylet print GiB under the name MEM(GB)
_USER = re.compile(
    r"^\s*\d{1,9}\s+(?P<size>\d[\d.]*)\s+"
    r"(?:ray::(?P<actor>\w{1,80})|(?:\S{0,200}python[\d.]{0,6}\s+(?:-[A-Za-z]{1,4}\s+){0,3})?(?P<program>\S{1,200}))",
    re.A,
)
_TABLE = "MEM(GB)"
_MANY = 20  # rows; Ray prints ten


def holders(paste: Paste) -> Iterator[Fact]:
    """The kind of process that holds most of those in Ray's table, with how many there are, and what all of them hold in GiB."""
    at = next((place for place, line in enumerate(paste.lines) if _TABLE in line.words), None)
    if at is None:
        return
    held: dict[str, list[float]] = defaultdict(list)
    for line in paste.lines[at + 1 : at + 1 + _MANY]:
        if (row := _USER.match(line.words)) is None:
            break
        held[row["actor"] or row["program"].rpartition("/")[2]].append(float(row["size"]))
    if len(held) < 2:  # nothing to compare with
        return
    name, sizes = max(held.items(), key=lambda one: sum(one[1]))
    line = paste.lines[at]
    span = Span(line.number, line.offset, line.offset + len(line.words))
    yield Fact("holder", name, "read", written=f"{len(sizes)} of {name}", span=span)
    yield Fact("holder_gib", round(sum(sizes), 2), "read", span=span)


def _of_kernel(paste: Paste) -> Fact | None:
    """Its resident pages, of its own, of files and shared; ``why`` names it."""
    killed: list[tuple[int, Fact]] = []
    for line in paste.lines:
        if "Killed process" not in line.words or not (found := _BY_KERNEL.search(line.words)):
            continue
        shared = int(found["shm"] or 0)
        kib = int(found["anon"]) + int(found["file"]) + shared
        pages = ", shared pages for the most part" if shared > kib / 2 else ""
        why = f"The kernel killed {found['name']} (pid {found['pid']}{pages})"
        fact = Fact(
            "process_gib", round(kib * KIB / GIB, 2), "read", written=found[0], span=span_of(line, found), why=why
        )
        killed.append((kib, fact))
    return max(killed, key=lambda one: one[0])[1] if killed else None
