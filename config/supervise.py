"""Child processes that live and die together: each leads its own process group, so that none outlives the supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

GRACE = 10.0  # seconds between TERM and KILL
LONGEST_PAUSE = 60.0  # seconds between two starts of a child that keeps dying
TICK = 0.1  # seconds between two looks


@dataclass
class Child:
    """A command to keep running. When a ``vital`` one ends, everything ends; the others are started again."""

    name: str
    command: Sequence[str]
    vital: bool = False
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    due: float | None = None
    pause: float = field(default=1.0)

    def start(self) -> None:
        # A session of its own: Ctrl-C in the terminal reaches the supervisor alone, which then ends the children in order.
        self.process = subprocess.Popen(self.command, start_new_session=True)
        self.started, self.due = time.monotonic(), None

    def terminate(self) -> None:
        """Asks the leader alone: gunicorn and Celery end their own processes in good order."""
        if self.process and self.process.poll() is None:
            self.process.terminate()

    def kill_group(self) -> None:
        """Kills whatever is left of the child's group, also after the child itself has gone."""
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                return
            self.process.wait()

    def lives(self) -> bool:
        return self.process is not None and self.process.poll() is None


class Supervisor:
    """Runs children until INT, TERM or HUP, or until a vital child ends. ``ready`` is asked until it says true."""

    def __init__(self, children: Sequence[Child], ready: Callable[[], bool] = lambda: True) -> None:
        self.children = children
        self.ready = ready
        self.signals = 0

    def run(self) -> int:
        """0 when a signal ended it, 1 when a vital child did."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._stop)
        try:
            for child in self.children:
                child.start()
            return self._watch()
        finally:
            self._end_all()

    def _stop(self, *_: object) -> None:
        self.signals += 1

    def _watch(self) -> int:
        announced = False
        while not self.signals:
            for child in self.children:
                if self._fell(child):
                    return 1
            announced = announced or self.ready()
            time.sleep(TICK)
        return 0

    def _fell(self, child: Child) -> bool:
        """Whether this child's end is the end of all; starts another one again when its pause is over."""
        now = time.monotonic()
        if child.due is not None:
            if now >= child.due:
                child.start()
            return False
        status = child.process.poll() if child.process else None
        if status is None:
            return False
        child.kill_group()  # nothing of the dead one may stay beside its successor
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        if child.vital:
            print(f"The {child.name} ended {how}: stopping.", file=sys.stderr, flush=True)
            return True
        child.pause = 1.0 if now - child.started > LONGEST_PAUSE else min(child.pause * 2, LONGEST_PAUSE)
        child.due = now + child.pause
        print(f"The {child.name} ended {how}: again in {child.pause:.0f} s.", file=sys.stderr, flush=True)
        return False

    def _end_all(self) -> None:
        """TERM, up to ``GRACE`` seconds, then KILL; a second Ctrl-C does not wait."""
        seen, deadline = self.signals, time.monotonic() + GRACE
        for child in self.children:
            child.terminate()
        while any(child.lives() for child in self.children):
            if time.monotonic() > deadline or self.signals > max(seen, 1):
                break
            time.sleep(TICK / 2)
        for child in self.children:
            child.kill_group()
