"""The limit of host memory that a scheduler or a container sets, and what the machine has, as tools print both.

Forms: slurm.schedmd.com/sbatch.html (M, G and T are powers of 1024, a bare number is MiB), SchedMD/slurm contribs/seff/seff, IBM Spectrum
LSF "bsub -M" and the mail that it sends of a job, openpbs/openpbs src/resmom/mom_main.c, kubernetes.io "Resource units", docs.docker.com
"Runtime options with memory" and "docker container stats" (docker/go-units RAMInBytes: powers of 1024 with or without i),
torvalds/linux mm/memcontrol.c (mem_cgroup_print_oom_meminfo), proc(5) for MemTotal, rfjakob/earlyoom@5c3e3ea meminfo.c
(print_mem_stats), systemd.resource-control(5), top(1), htop-dev/htop MemoryMeter.c, wandb-metadata.json of Weights & Biases,
learn.microsoft.com "Advanced settings in WSL".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from diagnose.facts.hardware.job_totals import job_totals
from diagnose.facts.sentences.prose import span_of
from diagnose.types import Fact, Facts, Line, Paste, Setting, Span
from diagnose.units import GIB, KIB, to_gib

LIMIT = "a limit of the job or its container"
_POWERS = {"": 0, "b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_UNLIMITED = 1 << 50  # a cgroup of version 1 without a limit prints about 2**63

# Figures that stand in one line with their meaning: literals, all lower case, and the pattern; groups size and unit, or kib or bytes.
_ROWS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("memory: usage",), re.compile(r"\bmemory: usage \d{1,14}kB, limit (?P<kib>\d{4,12})kB", re.A)),
    (("kb exceeded limit",), re.compile(r"(?<!v)\bmem \d{1,14}kb exceeded limit (?P<kib>\d{4,12})kb", re.A)),
    (("memory efficiency",), re.compile(r"\((?P<size>\d{1,6}\.\d\d) (?P<unit>[MGT])B/node\)", re.A)),
    # in one line, as people shorten what kubectl describe prints
    (
        ("limits", "memory"),
        re.compile(
            r"\blimits:?\s{0,4}\{?[^{}\n]{0,60}?\bmemory[:=]\s?[\"']?(?P<size>\d{1,8})(?P<unit>[MGT])i\b", re.I | re.A
        ),
    ),
    (
        ("#bsub",),
        re.compile(
            r"^\s*#BSUB\s(?:.{0,80}\s)?-M ?[\"']?(?P<size>\d{1,8})(?P<unit>[MGT])B?(?=[\s\"'/!]|$)", re.I | re.A
        ),
    ),
    (
        ("#pbs",),
        re.compile(
            r"^\s*#PBS\s+-l\s+(?:(?:select|nodes)=(?:1:)?(?!\d)[^+]{0,80}?\b)?mem=(?P<size>\d{1,8})(?P<unit>[mgt])b\b",
            re.I | re.A,
        ),
    ),
    (('"memory"',), re.compile(r"^\s*\"Memory\":\s*(?P<bytes>\d{10,15}),?\s*$", re.A)),
    (
        ("%", "ib / "),
        re.compile(
            r"^\s*[0-9a-f]{12}\s.{1,80}?%\s+[\d.]{1,8}[KMGT]?i?B / (?P<size>\d[\d.]{0,7})(?P<unit>[MGT])iB\s+[\d.]+%",
            re.A,
        ),
    ),
    (("mem_limit",), re.compile(r"^\s*mem_limit:\s*[\"']?(?P<size>\d{1,8})(?P<unit>[mgt])i?b?[\"']?\s*$", re.I | re.A)),
    (
        ("total requested memory",),
        re.compile(r"^\s*Total Requested Memory :\s+(?P<size>\d{2,9}\.\d\d) (?P<unit>[MG])B\s*$", re.A),
    ),
    (("memorymax=",), re.compile(r"^\s*(?:\S{1,40} )?(?:-p ?)?MemoryMax=(?P<size>\d{1,6})(?P<unit>[MGT])\b", re.A)),
    (("memory=",), re.compile(r"^\s*memory=(?P<size>\d{1,5})(?P<unit>[MG])B\s*$", re.A)),
)
_CGROUP_FILE = re.compile(
    r"\bmemory(?:\.max|\.limit_in_bytes|_limit_in_bytes)\b[^\d\n]{0,20}(?P<bytes>\d{9,15})?\s*$", re.A
)
_BYTES = re.compile(r"^\s*(?P<bytes>\d{9,15})\s*$", re.A)
# what the machine has: proc(5), top, htop, and all that earlyoom counts the available part of
_MACHINE = (
    ("MemTotal", re.compile(r"^\s*MemTotal:\s+(?P<kib>\d{6,12}) kB", re.A)),
    ("iB Mem", re.compile(r"^\s*(?P<unit>[KMGT])iB Mem ?:\s{1,6}(?P<size>\d{1,12}(?:\.\d)?) ?\+?total\b", re.A)),
    ("Mem[", re.compile(r"\bMem\[[^\]\n/]{1,200}\d[\d.]{0,6}[KMGT]/(?P<size>\d[\d.]{0,6})(?P<unit>[GT])\]", re.A)),
    ("mem avail", re.compile(r"\bmem avail:\s{1,6}\d{1,8} of\s{1,6}(?P<size>\d{4,8}) (?P<unit>M)iB\b", re.A)),
)
# an older seff names the job's memory alone
_OF_JOB = re.compile(
    r"^\s*Memory Efficiency: [\d.]{1,8}% of (?P<size>\d{1,6}\.\d\d) (?P<unit>[MGT])B(?: \([^()/]{1,20}/core\))?\s*$",
    re.A,
)
_ONE_NODE = re.compile(r"^\s*(?:Nodes|Cores): 1\s*$", re.A)

CONTAINER = re.compile(
    r"\b(?:docker|podman|nerdctl|apptainer|singularity)\s+(?:container\s+)?(?:run|create|exec)\b", re.A
)
_CONTAINER_MEMORY = re.compile(
    r"\s(?:-m|--memory)[= ](?P<size>\d{1,13})(?P<unit>[bkmgt]?)(?:i?b)?(?=\s|$)", re.I | re.A
)

SCHEDULED = re.compile(r"^\s*(?:#SBATCH\s|(?:\S{0,80}/)?(?:srun|sbatch|salloc)\s)", re.A)
_SLURM_MEMORY = re.compile(r"\s--mem(?P<per>-per-cpu|-per-gpu)?[= ](?P<size>\d{1,8})(?P<unit>[KMGT]?)B?(?=\s|$)", re.A)
_SLURM_CPUS = re.compile(
    r"\s(?:--(?P<what>cpus-per-task|cpus-per-gpu|ntasks-per-node)[= ]|(?P<short>-c) ?)(?P<count>\d{1,4})(?=\s|$)", re.A
)
_SACCT = re.compile(r"^\s*(?P<size>\d{1,8}(?:\.\d{1,2})?)(?P<unit>[MGT])n?\s*$", re.A)

_QUANTITY = re.compile(r"(?P<size>\d{1,15}(?:\.\d{1,3})?)(?P<unit>[KMGTP]i?|k)?$", re.A)
_LIMIT_KEY = re.compile(r"(?:^|\.)limits\.memory$", re.I | re.A)
_COMPOSE_KEY = re.compile(r"(?:^|\.)deploy\.resources\.limits\.memory$", re.A)
_COMPOSE_SIZE = re.compile(r"(?P<size>\d{1,8})(?P<unit>[mgt])i?b?$", re.I | re.A)


def job_limited(facts: Facts) -> bool:
    """Whether what a node may give is what a scheduler or a container set, and not its RAM."""
    ram = facts.stated.get("host_ram_gb")
    return ram is not None and ram.why == LIMIT and "node_total_gb" not in facts.values


def read_limits(paste: Paste, cards: Mapping[str, Fact]) -> dict[str, Fact]:
    """The lowest limit of host memory; with no limit, what the machine has. ``cards``: what the scheduler gives of cards and nodes."""
    limits = [*_rows(paste.lines), *_slurm(paste.lines, cards), *_sacct(paste.lines, cards)]
    limits += [fact for fact in job_totals(paste, LIMIT) if fact.id == "host_ram_gb"]
    limits += [*_containers(paste.lines), *_cgroup_files(paste.lines), *_settings(paste), *_seff(paste.lines, cards)]
    machine = [
        _fact(line, found, _gib(found), why="")
        for line in paste.lines
        for literal, pattern in _MACHINE
        if literal in line.words and (found := pattern.search(line.words))
    ]
    machine += [
        Fact("host_ram_gb", _round(gib), "read", "", one.key, one.value, one.span)
        for one in paste.settings
        if one.shape == "json" and one.key == "memory.total" and (gib := _tracked(one.value))
    ]
    known = [fact for fact in limits if float(fact.value) >= 1] or machine[:1]
    return {"host_ram_gb": min(known, key=lambda fact: float(fact.value))} if known else {}


def _fact(line: Line, found: re.Match[str], gib: float, why: str = LIMIT) -> Fact:
    return Fact("host_ram_gb", _round(gib), "read", written=found[0].strip(), span=span_of(line, found), why=why)


def _round(gib: float) -> int | float:
    rounded = round(float(gib), 1)
    return int(rounded) if rounded.is_integer() else rounded


def _gib(found: re.Match[str], default: str = "b") -> float:
    groups = found.groupdict()
    if groups.get("kib"):
        return int(groups["kib"]) * KIB / GIB
    if groups.get("bytes"):
        return to_gib(int(groups["bytes"]))
    return float(groups["size"]) * float(KIB ** (_POWERS[(groups["unit"] or default).lower()] - 3))


def _rows(lines: Sequence[Line]) -> Iterator[Fact]:
    whole = "\n".join(line.words for line in lines).lower()
    rows = [row for row in _ROWS if all(literal in whole for literal in row[0])]
    for line in lines if rows else ():
        words = line.words.lower()
        for literals, pattern in rows:
            if all(literal in words for literal in literals) and (found := pattern.search(line.words)):
                yield _fact(line, found, _gib(found))


def _slurm(lines: Sequence[Line], cards: Mapping[str, Fact]) -> Iterator[Fact]:
    """``--mem`` is a node's; per CPU and per GPU it counts as many as the same script asks for on a node."""
    asked = [line for line in lines if SCHEDULED.match(line.words)]
    counts = _slurm_counts(asked, cards)
    for line in asked:
        found = _SLURM_MEMORY.search(line.words) if "--mem" in line.words else None
        times = counts.get(found["per"] or "") if found else None
        if found and times and int(found["size"]) > 0:  # 0 asks for all that a node has
            yield _fact(line, found, times * _gib(found, default="m"))


def _slurm_counts(asked: Sequence[Line], cards: Mapping[str, Fact]) -> dict[str, int]:
    said = {
        found["what"] or "cpus-per-task": int(found["count"])
        for line in asked
        for found in _SLURM_CPUS.finditer(line.words)
    }
    known = {id: int(fact.value) for id, fact in cards.items() if isinstance(fact.value, int)}
    gpus = known.get("gpus_per_node") or known.get("n_gpus", 0) // known.get("n_nodes", 1)
    cpus = said.get("cpus-per-task", 0) * said.get("ntasks-per-node", 1) or said.get("cpus-per-gpu", 0) * gpus
    return {"": 1, "-per-gpu": gpus, "-per-cpu": cpus}


def _sacct(lines: Sequence[Line], cards: Mapping[str, Fact]) -> Iterator[Fact]:
    """The column ReqMem, which a rule of dashes bounds: the memory of the whole job, so of a node where it has one."""
    if "n_nodes" in cards and cards["n_nodes"].value != 1:
        return
    for header, rule, row in zip(lines, lines[1:], lines[2:], strict=False):
        if "ReqMem" not in header.text or not rule.text.strip().startswith("---"):
            continue
        end = header.text.index("ReqMem") + len("ReqMem")
        columns = [found.span() for found in re.finditer(r"-+", rule.text)]
        start = next((start for start, stop in columns if start < end <= stop), None)
        if start is not None and (found := _SACCT.match(row.text[start:end])):
            span, written = Span(row.number, start, end), found[0].strip()
            yield Fact("host_ram_gb", _round(_gib(found)), "read", written=written, span=span, why=LIMIT)


def _seff(lines: Sequence[Line], cards: Mapping[str, Fact]) -> Iterator[Fact]:
    """What an older seff prints of a job's memory, which is a node's where the job had one."""
    told = [
        (line, found) for line in lines if "Memory Efficiency" in line.words and (found := _OF_JOB.match(line.words))
    ]
    one = "n_nodes" in cards and cards["n_nodes"].value == 1
    if told and (one or any(_ONE_NODE.match(line.words) for line in lines)):
        yield from (_fact(line, found, _gib(found)) for line, found in told)


def _containers(lines: Sequence[Line]) -> Iterator[Fact]:
    """The memory of ``docker run`` and its kin, also in the lines that continue it."""
    inside = False
    for line in lines:
        inside = inside or bool(CONTAINER.search(line.words))
        if inside and (found := _CONTAINER_MEMORY.search(line.words)):
            yield _fact(line, found, _gib(found))
        inside = inside and line.words.rstrip().endswith("\\")


def _cgroup_files(lines: Sequence[Line]) -> Iterator[Fact]:
    """``memory.max`` with its figure in the same line or, as ``cat`` prints it, in the next."""
    for at, line in enumerate(lines):
        found = _CGROUP_FILE.search(line.words) if "memory" in line.words else None
        if found and not found["bytes"] and at + 1 < len(lines):
            line = lines[at + 1]
            found = _BYTES.match(line.words)
        if found and 1 << 30 <= int(found["bytes"] or 0) < _UNLIMITED:
            yield _fact(line, found, _gib(found))


def _settings(paste: Paste) -> Iterator[Fact]:
    """The largest limit of the containers, which is that of the one that trains."""
    limits: list[tuple[float, Setting]] = []
    for setting in paste.settings:
        if setting.shape in ("yaml", "json") and _LIMIT_KEY.search(setting.key):
            gib = _compose(setting.value) if _COMPOSE_KEY.search(setting.key) else _quantity(setting.value)
            limits.append((gib, setting))
    if limits:
        most, setting = max(limits, key=lambda limit: limit[0])
        yield Fact("host_ram_gb", _round(most), "read", "", setting.key, setting.value, setting.span, LIMIT)


def _quantity(words: str) -> float:
    """GiB of what Kubernetes calls a quantity, in which G is a power of 1000; 0 where it is none."""
    found = _QUANTITY.match(words)
    if not found:
        return 0.0
    unit = found["unit"] or ""
    factor = KIB ** _POWERS[unit[0].lower()] if unit.endswith("i") else 1000 ** _POWERS[unit.lower()]
    return to_gib(float(found["size"]) * float(factor))


def _tracked(words: str) -> float:
    """GiB of what a tracker of runs notes of the machine: bytes, in its older form GiB with a fraction; 0 where it is neither."""
    found = re.fullmatch(r"(?P<bytes>\d{10,14})|(?P<gib>\d{1,5}\.\d{1,16})", words, re.A)
    return 0.0 if found is None else to_gib(int(found["bytes"])) if found["bytes"] else float(found["gib"])


def _compose(words: str) -> float:
    found = _COMPOSE_SIZE.match(words)
    return _gib(found) if found else 0.0
