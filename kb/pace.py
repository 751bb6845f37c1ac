"""How often one person may ask for something dear, counted in this process."""

from __future__ import annotations

import time
from collections import deque
from threading import Lock

PREVIEWS = 120  # a minute: twice as many as an editor sends while somebody types without a pause
_MINUTE = 60.0
_asked: dict[int, deque[float]] = {}
_lock = Lock()


def too_fast(person: int, most: int = PREVIEWS) -> bool:
    """Whether this request is one too many within a minute."""
    now = time.monotonic()
    with _lock:
        asked = _asked.setdefault(person, deque(maxlen=most))
        if len(asked) == most and now - asked[0] < _MINUTE:
            return True
        asked.append(now)
        return False
