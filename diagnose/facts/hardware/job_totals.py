"""What Slurm gives a job in all: ``cpu=64,mem=200G,node=1,gres/gpu=4``, as sacct and scontrol print it (slurm.schedmd.com "TRES")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from diagnose.facts.sentences.prose import span_of
from diagnose.types import Fact, Line, Paste
from diagnose.units import KIB

_LIST = re.compile(
    r"(?<![\w/,])(?:(?:billing|cpu|energy|mem|node|fs/\w{1,20}|gres/\w{1,20}(?::[\w.-]{1,40})?)=[\d.]{1,16}[KMGTP]?,?){3,12}",
    re.A,
)
_CARDS = re.compile(r"gres/gpu=(?P<count>\d{1,4})(?![\w.])", re.A)
_NODES = re.compile(r"\bnode=(?P<count>\d{1,4})(?![\w.])", re.A)
_MEMORY = re.compile(r"\bmem=(?P<size>\d{1,12}(?:\.\d{1,4})?)(?P<unit>[KMGT])(?!\w)", re.A)
_GIB = {"K": KIB**-2, "M": KIB**-1, "G": 1, "T": KIB}


def job_totals(paste: Paste, limit: str) -> Iterator[Fact]:
    """Cards, nodes and the memory of one of them, where all lists of the text tell the same job; a step has a part of it."""
    lists = [(line, found) for line in paste.lines if "mem=" in line.words for found in _LIST.finditer(line.words)]
    jobs = [one for one in lists if _CARDS.search(one[1][0]) and _NODES.search(one[1][0])]
    if jobs and len({tuple(_counts(found[0]).items()) for _, found in jobs}) == 1:
        yield from _of_job(*jobs[0], limit)


def _counts(words: str) -> Mapping[str, int]:
    return {
        id: int(found["count"])
        for id, form in (("n_gpus", _CARDS), ("n_nodes", _NODES))
        if (found := form.search(words))
    }


def _of_job(line: Line, found: re.Match[str], limit: str) -> Iterator[Fact]:
    counts, span, words = _counts(found[0]), span_of(line, found), found[0].strip(",")
    if not all(counts.values()):
        return
    for id, count in counts.items():
        yield Fact(id, count, "read", written=words, span=span)
    if memory := _MEMORY.search(found[0]):
        gib = round(float(memory["size"]) * _GIB[memory["unit"]] / counts["n_nodes"], 1)
        if gib >= 1:
            yield Fact(
                "host_ram_gb", int(gib) if gib.is_integer() else gib, "read", written=words, span=span, why=limit
            )
