"""What steps of training take of a real card: torch's own counters by phase, what the driver counts for the process, and live blocks.

Every point runs in a process of its own, so that none meets what another left in the allocator. Points of several scripts share a card: a
file says how much each may take, and a point waits until there is room for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

TAKEN = Path(tempfile.gettempdir()) / "taken-of-the-card.json"  # GiB by process
SPARE = 6  # GiB of the card that nobody is given
_SHOWN = 40  # sizes of live blocks that a point's file names


class Card:
    """The highest use of the card within the marks of each phase; marks may lie within each other.

    ``allocated`` and ``active`` are torch's counters (a block that another stream still reads is active and not allocated), ``reserved``
    is what its allocator took, ``device`` what the driver counts for this process. All in bytes.
    """

    def __init__(self) -> None:
        self._open: list[tuple[str, dict[str, int]]] = []
        self._calls: dict[str, list[dict[str, int]]] = {}
        self._spans: list[tuple[str, float, float]] = []
        self.reserved = 0
        torch.cuda.synchronize()
        self.context = driver_bytes()
        torch.cuda.memory._record_memory_history("all", context=None, max_entries=4_000_000)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self._fold()
        self._open.append((name, {"allocated": 0, "active": 0, "reserved": 0}))
        start = time.time()
        try:
            yield
        finally:
            self._fold()
            name, own = self._open.pop()
            self._calls.setdefault(name, []).append(own)
            self._spans.append((name, start, time.time()))
            self._raise(own)

    def wrap(self, owner: Any, name: str, phase: str) -> None:
        """Count each call of ``owner.name`` as one of ``phase``."""
        inner = getattr(owner, name)

        @functools.wraps(inner)
        def marked(*args: Any, **kwargs: Any) -> Any:
            with self.phase(phase):
                return inner(*args, **kwargs)

        setattr(owner, name, marked)

    def found(self, skip: dict[str, int] | None = None) -> dict[str, Any]:
        """Peaks of each phase without its first calls (``skip``), counters of the whole run, and the blocks that lived at each peak."""
        self._fold()
        skip = skip or {}
        later = {phase: calls[skip.get(phase, 0) :] for phase, calls in self._calls.items()}
        most = {
            counter: {phase: max(one[counter] for one in calls) for phase, calls in later.items() if calls}
            for counter in ("allocated", "active", "reserved")
        }
        stats = torch.cuda.memory_stats()
        return {
            "peaks": most["allocated"],
            "active": most["active"],
            "reserved_in": most["reserved"],
            "reserved": self.reserved,
            "device": driver_bytes(),
            "context": self.context,
            "streams": reserved_by_stream(),
            "retries": stats["num_alloc_retries"],
            "calls": {phase: [one["allocated"] for one in calls] for phase, calls in self._calls.items()},
            "blocks": self._blocks(),
        }

    def _fold(self) -> None:
        """Take the counters down for the mark that is open, and let them start again from what lives."""
        torch.cuda.synchronize()
        now = torch.cuda.memory_stats()
        self.reserved = max(self.reserved, now["reserved_bytes.all.peak"])
        if self._open:
            self._raise({name: now[f"{name}_bytes.all.peak"] for name in ("allocated", "active", "reserved")})
        torch.cuda.reset_peak_memory_stats()

    def _raise(self, seen: dict[str, int]) -> None:
        if self._open:
            own = self._open[-1][1]
            own |= {name: max(size, own[name]) for name, size in seen.items()}

    def _blocks(self) -> dict[str, dict[str, int]]:
        """Of the last call of each phase: how many blocks of each size lived at its peak, the largest sums first."""
        events = torch.cuda.memory._snapshot()["device_traces"][0]
        spans = {name: (start * 1e6, end * 1e6) for name, start, end in self._spans}
        peaks, at = dict.fromkeys(spans, 0), dict[str, int]()
        for place, (time_us, now, _) in enumerate(_lives(events)):
            for name, (start, end) in spans.items():
                if start <= time_us <= end and now > peaks[name]:
                    peaks[name], at[name] = now, place
        kept = {}
        for place, (_, _, lives) in enumerate(_lives(events)):
            for name in (name for name, wanted in at.items() if wanted == place):
                sizes = Counter(lives.values())
                most = sorted(sizes.items(), key=lambda one: -one[0] * one[1])[:_SHOWN]
                kept[name] = {str(size): count for size, count in most}
        return kept


def _lives(events: list[dict[str, Any]]) -> Iterator[tuple[int, int, dict[int, int]]]:
    """After each event of the allocator: its time, the bytes that live, and the blocks by address."""
    lives, now = dict[int, int](), 0
    for event in events:
        if event["action"] == "alloc":
            lives[event["addr"]] = event["size"]
            now += event["size"]
        elif event["action"] == "free_requested":
            now -= lives.pop(event["addr"], 0)
        yield event["time_us"], now, lives


def reserved_by_stream() -> list[int]:
    """What the allocator keeps for each stream, the largest first: a block freed on one is not given to another."""
    sizes: Counter[int] = Counter()
    for segment in torch.cuda.memory_snapshot():
        sizes[segment["stream"]] += segment["total_size"]
    return sorted(sizes.values(), reverse=True)


def driver_bytes() -> int:
    """What the driver counts for this process, its context and the code of kernels included; 0 where it does not tell."""
    import pynvml

    pynvml.nvmlInit()
    card = pynvml.nvmlDeviceGetHandleByIndex(0)
    for process in pynvml.nvmlDeviceGetComputeRunningProcesses(card):
        if process.pid == os.getpid():
            return process.usedGpuMemory or 0
    return 0


def alone(run: Callable[..., dict[str, Any]], *args: Any, gib: float) -> dict[str, Any]:
    """``run(*args)`` in a process of its own, a copy of this one where it has not touched the card; errors come back as ``error``."""
    context = torch.multiprocessing.get_context("spawn" if torch.cuda.is_initialized() else "fork")
    answers = context.SimpleQueue()
    worker = context.Process(target=_answer, args=(answers, run, args, gib))
    worker.start()
    while worker.is_alive() and answers.empty():
        time.sleep(0.05)
    found = answers.get() if not answers.empty() else {"error": f"died with {worker.exitcode}"}
    worker.join()
    return found


def _answer(answers: Any, run: Callable[..., dict[str, Any]], args: tuple[Any, ...], gib: float) -> None:
    while not _room(gib):
        time.sleep(0.1)
    start = time.time()
    try:
        found = run(*args)
    except BaseException:
        found = {"error": traceback.format_exc()[-3000:]}
    answers.put({**found, "seconds": round(time.time() - start, 1)})


def _room(gib: float) -> bool:
    """Whether the card has room for so much beside what others may take; if so it is taken until this process ends."""
    with TAKEN.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        taken = {pid: size for pid, size in json.loads(file.read() or "{}").items() if Path("/proc", pid).exists()}
        whole = _whole_gib() - SPARE
        fits = sum(taken.values()) + min(gib, whole) <= whole
        if fits:
            taken[str(os.getpid())] = min(gib, whole)
        file.truncate(0)
        file.write(json.dumps(taken))
    return fits


@functools.cache
def _whole_gib() -> float:
    import pynvml

    pynvml.nvmlInit()
    return pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).total / 2**30


def measure(points: list[dict[str, Any]], out: Path, until: float) -> None:
    """Measure the points until the time is over, and append a line of JSON for each.

    A point is ``run`` and ``args``, the ``gib`` that it may take of the card, and what is said of it.
    """
    for point in points:
        if time.time() > until:
            print("no time for", point["id"], flush=True)
            continue
        found = alone(point.pop("run"), *point.pop("args"), gib=point.pop("gib"))
        with out.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({**point, **found}) + "\n")
        short = {name: round(size / 2**30, 2) for name, size in found.get("peaks", {}).items()}
        rest = {name: round(found.get(name, 0) / 2**30, 2) for name in ("reserved", "device", "context")}
        print(point["id"], found.get("error", "")[-600:] or {**short, **rest}, found.get("seconds"), flush=True)
