"""What torch's table of its memory shows reserved and unused, where the message of the failure prints no figures of its own.

(torch 2.5 torch/cuda/memory.py: memory_summary)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from diagnose.facts.sentences.prose import span_of
from diagnose.types import Fact, Line
from diagnose.units import parse_size, to_gib

_ROW = re.compile(r"\|\s(?P<what>Allocated|GPU reserved) memory\s{1,12}\|\s{1,10}(?P<size>\d{1,9} [KMGT])i?B\s", re.A)
_FAILURES = re.compile(r"\|\s{1,20}CUDA OOMs:\s(?P<n>\d{1,6})\s", re.A)
_FIGURES = ("torch_reserved_gib", "torch_allocated_gib", "gpu_free_gib")


def of_table(lines: Sequence[Line], stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """Of one table that counts a failure; of several nobody knows which was printed behind it."""
    failures = [found for line in lines if (found := _FAILURES.search(line.words))]
    rows = [(line, found) for line in lines if (found := _ROW.search(line.words))] if failures else []
    sizes = {found["what"]: parse_size(f"{found['size']}iB") for _, found in rows}
    if any(id in stated for id in _FIGURES) or len(failures) != 1 or len(rows) != 2 or len(sizes) != 2:
        return {}
    if not int(failures[0]["n"]):
        return {}
    allocated = sizes["Allocated"]
    figures = {"torch_allocated_gib": allocated, "torch_reserved_gib": max(0, sizes["GPU reserved"] - allocated)}
    return {
        id: Fact(id, round(to_gib(size), 2), "read", written=row[0], span=span_of(line, row))
        for (id, size), (line, row) in zip(figures.items(), rows, strict=True)
    }
