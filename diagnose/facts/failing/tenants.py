"""Which of the processes that an allocator's message lists is the one that failed, where it calls none of them its own.

A container hides the process's own number from the driver; then all who hold the card are listed as others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from diagnose.allocator import BESIDE_TORCH, WITH_GROUPS
from diagnose.facts.sentences.prose import span_of
from diagnose.types import Fact, Paste
from diagnose.units import parse_size, to_gib
from diagnose.vocabulary import Origin

_LISTED = re.compile(r"\bProcess \d{1,10} has (?P<size>\d[\d.]{0,12} (?:[KMGT]iB|bytes)) memory in use", re.A)
# Where a message is cut before it tells what torch has reserved and does not use: as in terms_fixed.py, of ten messages 0.1 to 18 % of it.
_UNUSED = 0.2
# The message may be broken over so many lines.
_LINES = 4


def own_process(paste: Paste, stated: Mapping[str, Fact]) -> Fact | None:
    """GiB of the listed process that holds what torch counts and least beside it; None where the message names its own, or none fits."""
    allocated, unused = stated.get("torch_allocated_gib"), stated.get("torch_reserved_gib")
    if "process_gib" in stated or allocated is None or allocated.span is None:
        return None
    held = float(allocated.value) + (float(unused.value) if unused else 0.0)
    beside = BESIDE_TORCH + (0.0 if unused else _UNUSED * held)
    last = allocated.span.line
    near = [line for line in paste.lines if last - _LINES < line.number <= last and "memory in use" in line.words]
    listed = [(line, found) for line in near for found in _LISTED.finditer(line.words)]
    if len(listed) < 2:
        return None
    sizes = [(to_gib(parse_size(found["size"])), line, found) for line, found in listed]
    own = [one for one in sizes if held <= one[0] <= held + beside]
    origin: Origin = "read" if len(own) == 1 else "assumed"
    why = "of the processes that fit the one with least beside torch’s" if len(own) > 1 else ""
    if not own and unused:
        near_it = [one for one in sizes if held <= one[0] <= held + WITH_GROUPS]
        own, why = (near_it if len(near_it) == 1 else []), "of the processes listed it alone is near what torch holds"
    if not own:
        return None
    size, line, found = min(own, key=lambda one: one[0])
    return Fact(
        "process_gib", round(size, 4), origin, written=found["size"], span=span_of(line, found, "size"), why=why
    )
