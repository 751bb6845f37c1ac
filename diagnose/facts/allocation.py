"""What a scheduler or a container gives: cards, nodes and the limit of host memory, by Slurm, Kubernetes, Docker and cgroups.

Forms: slurm.schedmd.com/sbatch.html (M, G and T are powers of 1024, a bare number is MiB), kubernetes.io "Resource units",
docs.docker.com "Runtime options with memory", torvalds/linux mm/memcontrol.c (mem_cgroup_print_oom_meminfo), proc(5) for MemTotal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnose.facts.prose import span_of
from diagnose.types import Fact, Line, Paste, Setting

_SCHEDULED = re.compile(r"^\s*(?:#SBATCH\s|(?:\S{0,80}/)?(?:srun|sbatch|salloc)\s)", re.A)
_SLURM_MEMORY = re.compile(r"\s--mem[= ](?P<size>\d{1,8})(?P<unit>[KMGT]?)B?(?=\s|$)", re.A)
_SLURM_NODES = re.compile(r"\s(?:--nodes[= ]|-N ?)(?P<count>\d{1,4})(?=\s|$)", re.A)
_SLURM_PER_NODE = re.compile(
    r"\s--(?:gres[= ]gpu|gpus-per-node)[:= ](?:[A-Za-z][\w.-]{0,40}:)?(?P<count>\d{1,2})(?=[\s,(]|$)", re.A
)
_SLURM_GPUS = re.compile(r"\s(?:--gpus[= ]|-G ?)(?:[A-Za-z][\w.-]{0,40}:)?(?P<count>\d{1,4})(?=\s|$)", re.A)

_CGROUP = re.compile(r"\bmemory: usage \d{1,14}kB, limit (?P<kib>\d{4,12})kB", re.A)
_CGROUP_FILE = re.compile(
    r"\bmemory(?:\.max|\.limit_in_bytes|_limit_in_bytes)\b[^\d\n]{0,20}(?P<bytes>\d{9,15})?\s*$", re.A
)
_BYTES = re.compile(r"^\s*(?P<bytes>\d{9,15})\s*$", re.A)
_UNLIMITED = 1 << 50  # a cgroup of version 1 without a limit prints about 2**63
_MEM_TOTAL = re.compile(r"^\s*MemTotal:\s+(?P<kib>\d{6,12}) kB", re.A)
_DOCKER = re.compile(
    r"\b(?:docker|podman|nerdctl) run\b.{0,2000}?\s(?:-m|--memory)[= ](?P<size>\d{1,8})(?P<unit>[bkmg]?)\b", re.I | re.A
)

_QUANTITY = re.compile(r"(?P<size>\d{1,15}(?:\.\d{1,3})?)(?P<unit>[KMGTP]i?|k)?$", re.A)
_LIMIT_KEY = re.compile(
    r"(?:^|\.)limits\.(?P<what>memory|[a-z]{2,12}\.com/[\w-]{0,20}gpu|huawei\.com/Ascend\w{0,8})$", re.I | re.A
)
_POWERS = {"": 0, "b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def read_allocation(paste: Paste) -> dict[str, Fact]:
    """Cards and nodes that were asked for, and the lowest limit of host memory; with no limit, what the machine has."""
    found: dict[str, Fact] = {}
    for fact in (*_slurm(paste), *_kubernetes_cards(paste)):
        found.setdefault(fact.id, fact)
    limits = [*_limits(paste), *_kubernetes_memory(paste)]
    machine = [
        _memory(line, match, int(match["kib"]) / 1024**2) for line, match in _search(paste, "MemTotal", _MEM_TOTAL)
    ]
    if limits or machine:
        found["host_ram_gb"] = min(limits or machine[:1], key=lambda fact: float(fact.value))
    return found


def _search(paste: Paste, literal: str, pattern: re.Pattern[str]) -> Iterator[tuple[Line, re.Match[str]]]:
    for line in paste.lines:
        if literal in line.words and (found := pattern.search(line.words)):
            yield line, found


def _memory(line: Line, found: re.Match[str], gib: float) -> Fact:
    return Fact("host_ram_gb", _round(gib), "read", written=found[0].strip(), span=span_of(line, found))


def _round(gib: float) -> int | float:
    rounded = round(float(gib), 1)
    return int(rounded) if rounded.is_integer() else rounded


def _slurm(paste: Paste) -> Iterator[Fact]:
    for line in paste.lines:
        if not _SCHEDULED.match(line.words):
            continue
        for id, pattern in (("n_nodes", _SLURM_NODES), ("gpus_per_node", _SLURM_PER_NODE), ("n_gpus", _SLURM_GPUS)):
            if (found := pattern.search(line.words)) and int(found["count"]) > 0:
                yield Fact(id, int(found["count"]), "read", written=found[0].strip(), span=span_of(line, found))


def _limits(paste: Paste) -> Iterator[Fact]:
    for line in paste.lines:
        if "--mem" in line.words and _SCHEDULED.match(line.words) and (found := _SLURM_MEMORY.search(line.words)):
            gib = int(found["size"]) * 1024 ** (_POWERS[found["unit"].lower() or "m"] - 3)
            if gib > 0:  # 0 asks for all that a node has
                yield _memory(line, found, gib)
    for line, found in _search(paste, "limit ", _CGROUP):
        yield _memory(line, found, int(found["kib"]) / 1024**2)
    for line, found in _search(paste, " run ", _DOCKER):
        yield _memory(line, found, int(found["size"]) * 1024 ** (_POWERS[found["unit"].lower()] - 3))
    yield from _cgroup_files(paste)


def _cgroup_files(paste: Paste) -> Iterator[Fact]:
    """``memory.max`` with its figure in the same line or, as ``cat`` prints it, in the next."""
    for at, line in enumerate(paste.lines):
        found = _CGROUP_FILE.search(line.words) if "memory" in line.words else None
        if found and not found["bytes"] and at + 1 < len(paste.lines):
            line = paste.lines[at + 1]
            found = _BYTES.match(line.words)
        if found and 1 << 30 <= int(found["bytes"] or 0) < _UNLIMITED:
            yield _memory(line, found, int(found["bytes"]) / 1024**3)


def _kubernetes_memory(paste: Paste) -> Iterator[Fact]:
    """The largest limit of the containers, which is that of the one that trains."""
    limits: list[tuple[float, Setting]] = []
    for setting, _ in _kubernetes(paste, "memory"):
        if quantity := _QUANTITY.match(setting.value):
            unit = quantity["unit"] or ""
            factor = 1024 ** _POWERS[unit[0].lower()] if unit.endswith("i") else 1000 ** _POWERS[unit.lower()]
            limits.append((float(quantity["size"]) * factor / 1024**3, setting))
    if limits and (most := max(limits, key=lambda limit: limit[0]))[0] >= 1:
        yield Fact("host_ram_gb", _round(most[0]), "read", "", most[1].key, most[1].value, most[1].span)


def _kubernetes_cards(paste: Paste) -> Iterator[Fact]:
    for setting, what in _kubernetes(paste, "/"):
        if setting.value.isdigit() and 0 < int(setting.value) <= 16:
            yield Fact("gpus_per_node", int(setting.value), "read", "", what, setting.value, setting.span)


def _kubernetes(paste: Paste, kind: str) -> Iterator[tuple[Setting, str]]:
    for setting in paste.settings:
        if setting.shape in ("yaml", "json") and (found := _LIMIT_KEY.search(setting.key)) and kind in found["what"]:
            yield setting, found["what"]
