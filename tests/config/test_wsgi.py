"""What a web process has done before its first request."""

from __future__ import annotations

import subprocess
import sys

from tests.live import PATIENCE, ROOT

FROZEN = """
import gc
import config.wsgi
from diagnose.knowledge import _read
assert _read, "the knowledge is not read"
assert gc.get_freeze_count() > 50_000, gc.get_freeze_count()
assert len(gc.get_objects()) < 10_000, len(gc.get_objects())
"""


def test_the_garbage_collector_need_not_walk_the_knowledge() -> None:
    run = subprocess.run([sys.executable, "-c", FROZEN], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
