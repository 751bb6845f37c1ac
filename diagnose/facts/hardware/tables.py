"""Tables of cards: ``nvidia-smi`` in its other forms and with MIG slices, nvitop, gpustat, ``rocm-smi``, ``npu-smi``, ``ray status``.

Forms as the tools print them: docs.nvidia.com/deploy/nvidia-smi, docs.nvidia.com/datacenter/tesla/mig-user-guide, XuehaiPan/nvitop
nvitop/tui/screens/main/panels/device.py, wookayin/gpustat gpustat/core.py, ROCm/rocm_smi_lib python_smi_tools/rocm_smi.py,
ray-project/ray python/ray/autoscaler/_private/util.py (format_info_string).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

from diagnose.facts.hardware.cards import names, tight
from diagnose.facts.sentences.prose import span_of, whole_line
from diagnose.knowledge.hardware import Gpu
from diagnose.types import Fact, Line, Paste
from diagnose.units import GIB, MIB, to_gib

TABLE = "a table of the machine's cards"

_SLICE = re.compile(
    r"\bMIG\b.{0,60}?\b\dg\.(?P<gb>\d{1,3})gb\b|\b\dg\.(?P<gb2>\d{1,3})gb\b.{0,60}?\bMIG\b", re.I | re.A
)
_SLICE_ROW = re.compile(r"^\|\s+\d+\s+\d+\s+\d+\s+\d+\s+\|\s+\d+MiB\s*/\s*(?P<mib>\d{3,6})MiB", re.A)
_ATTACHED = re.compile(r"^\s*Attached GPUs\s*:\s*(?P<count>\d{1,3})\s*$", re.A)
_TOTAL = re.compile(r"^\s*Total\s*:\s*(?P<mib>\d{4,6}) MiB", re.A)
_FIELD = re.compile(r"\s*,\s*", re.A)
_MIB_FIELD = re.compile(r"(?P<mib>\d{4,6})(?: MiB)?$", re.A)
_SMI_ROW = re.compile(r"^\|\s{1,4}(?P<index>\d{1,2})\s{1,4}(?:NVIDIA|Tesla|GeForce|Quadro)\b", re.A)
_NVITOP_ROW = re.compile(
    r"^[│|]\s{1,4}(?P<index>\d{1,2})\s{1,4}\S[^│|]{3,60}[│|]\s*[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:", re.A
)
_GPUSTAT_ROW = re.compile(r"^\[(?P<index>\d{1,2})\] [^|]{3,60}\|[^|]{1,60}\|\s*\d{1,6}\s*/\s*\d{4,6} MB\b", re.A)
_VRAM = re.compile(r"^\s*GPU\[(?P<index>\d{1,2})\]\s*: VRAM Total Memory \(B\): (?P<bytes>\d{9,13})", re.A)
_ROCM_ROW = re.compile(r"^\s{0,4}(?P<index>\d{1,2})\s{2,}\S", re.A)
_NPU_ROW = re.compile(r"\|\s*[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:\S+\s*\|.*?(?P<mb>\d{4,6})\s*\|\s*$", re.A)
_LINKED_ROW = re.compile(r"^GPU(?P<index>\d{1,2})\s+(?:X|NV\d{1,2}|SYS|NODE|PHB|PXB|PIX)\s", re.A)
_HEADERS = ("NVIDIA-SMI", "NVITOP", "VRAM%", "HBM-Usage", "MIG devices", "Processes:")
_CARD_ROWS = {"VRAM%": _ROCM_ROW, "NVITOP": _NVITOP_ROW, "NVIDIA-SMI": _SMI_ROW}
_CLOSING = ("+", "╘")
_TITLE = re.compile(r"[a-z_]+[.\w]*(?: \[\w+\])?$", re.A)
_WIDEST = 400  # characters of a row
_RAY_GPUS = re.compile(r"^\s*\d+(?:\.\d+)?/(?P<count>\d{1,5})(?:\.0)? GPU\b", re.A)
_RAY_NODES = re.compile(r"^ (?P<count>\d{1,4}) \S+$", re.A)


def with_tables(table: Mapping[str, Fact], paste: Paste, gpus: Mapping[str, Gpu]) -> dict[str, Fact]:
    """The facts of a table, with what the other forms add; of a card that is cut into slices the slice's size counts."""
    found = dict(table)
    for fact in (*_listing(paste.lines), *_rows(paste.lines, gpus), *_others(paste.lines), *_of_ray(paste.lines)):
        found.setdefault(fact.id, fact)
    slices = {float(fact.value): fact for fact in _slices(paste.lines)}
    if slices:
        found.pop("n_gpus", None)
        found["gpu_mem_gib"] = slices[min(slices)]
    if len(slices) > 1:
        why = "the smallest of the card's slices"
        found["gpu_mem_gib"] = replace(found["gpu_mem_gib"], origin="assumed", why=why)
    return found


def _fact(id: str, value: int | float, line: Line, found: re.Match[str]) -> Fact:
    why = TABLE if id == "n_gpus" else ""
    return Fact(id, value, "read", written=found[0].strip(), span=span_of(line, found), why=why)


def _slices(lines: Sequence[Line]) -> Iterator[Fact]:
    """The sizes of MIG slices, by their name or, in GB as sold, by the table's capacity, which is a little less."""
    for line in lines:
        if found := _SLICE.search(line.words) if "g." in line.words else None:
            yield _fact("gpu_mem_gib", int(found["gb"] or found["gb2"]), line, found)
        elif found := _SLICE_ROW.match(line.words):
            gib = int(found["mib"]) * MIB / GIB
            yield _fact(
                "gpu_mem_gib",
                next(
                    (size for size in (5, 6, 10, 12, 18, 20, 24, 35, 40, 48, 71, 80) if 0 <= size - gib <= 0.05 * size),
                    round(gib),
                ),
                line,
                found,
            )


def _listing(lines: Sequence[Line]) -> Iterator[Fact]:
    """``nvidia-smi -q``: the number attached, and the frame buffer's total."""
    frame_buffer = False
    for line in lines:
        if found := _ATTACHED.match(line.words):
            yield _fact("n_gpus", int(found["count"]), line, found)
        elif frame_buffer and (found := _TOTAL.match(line.words)):
            yield _fact("gpu_mem_gib", int(found["mib"]) * MIB / GIB, line, found)
        frame_buffer = line.words.strip() == "FB Memory Usage"


def _rows(lines: Sequence[Line], gpus: Mapping[str, Gpu]) -> Iterator[Fact]:
    """``--query-gpu=… --format=csv``, with or without its header: one row a card, the largest figure its capacity."""
    rows: dict[str, Line] = {}
    for line, index, mib in _query(lines, names(gpus).packed.keys()):
        if not rows:
            yield Fact("gpu_mem_gib", mib * MIB / GIB, "read", written=line.words.strip(), span=whole_line(line))
        if index:
            rows.setdefault(index, line)
    if rows:
        yield Fact("n_gpus", len(rows), "read", span=whole_line(next(iter(rows.values()))), why=TABLE)


def _query(lines: Sequence[Line], known: Set[str]) -> Iterator[tuple[Line, str, int]]:
    """The rows with the index of the card, or the line's number under a header without one, and the largest figure."""
    header: list[str] = []
    last = 0
    for line in lines:
        fields = _FIELD.split(line.words.strip()) if "," in line.words and len(line.words) < _WIDEST else []
        if any(field.startswith(("memory.", "name")) for field in fields) and all(map(_TITLE.match, fields)):
            header, last = fields, line.number
            continue
        sizes = [int(found["mib"]) for field in fields if (found := _MIB_FIELD.match(field))]
        if not sizes or (header and (len(fields) != len(header) or line.number != last + 1)):
            continue
        # a header that names the capacity tells what a row is of
        whole = any(field.startswith("memory.total") for field in header)
        if whole or any(name in tight(field.lower()) for field in fields for name in known):
            last = line.number
            index = fields[header.index("index")] if "index" in header else fields[0]
            yield line, index if index.isdigit() else str(last) if header else "", max(sizes)


def _others(lines: Sequence[Line]) -> Iterator[Fact]:
    """A whole ``nvidia-smi`` table of one card, its matrix of links, ``rocm-smi`` and ``npu-smi``."""
    cards: dict[str, tuple[Line, re.Match[str]]] = {}
    header, closed = "", False
    for line in lines:
        words = line.words
        header = next((name for name in _HEADERS if name in words), header)
        closed = closed or (bool(cards) and words.startswith(_CLOSING))
        if found := _VRAM.match(words):
            yield _fact("gpu_mem_gib", to_gib(int(found["bytes"])), line, found)
        elif found := _GPUSTAT_ROW.match(words) or _LINKED_ROW.match(words):
            pass  # a row that is told without a header
        elif header in _CARD_ROWS:
            found = _CARD_ROWS[header].match(words)
        elif header == "HBM-Usage" and (chip := _NPU_ROW.search(words)):
            yield _fact("gpu_mem_gib", int(chip["mb"]) * MIB / GIB, line, chip)
        if found:
            cards.setdefault(found["index"], (line, found))
    first = next(iter(cards.values()), None)
    if first and _iswhole_line(list(cards), first[1].re, closed):
        yield _fact("n_gpus", len(cards), *first)


def _iswhole_line(indexes: Sequence[str], form: re.Pattern[str], closed: bool) -> bool:
    """Whether the rows are all the cards of a machine: a table with a frame is closed, a list counts from 0 and has more than one."""
    if form in (_SMI_ROW, _NVITOP_ROW) and not closed or form in (_GPUSTAT_ROW, _LINKED_ROW) and len(indexes) < 2:
        return False
    return [*map(int, indexes)] == [*range(len(indexes))]


def _of_ray(lines: Sequence[Line]) -> Iterator[Fact]:
    """``ray status``: the cluster's cards and its active nodes."""
    if not any("Autoscaler status" in line.words for line in lines):
        return
    nodes: list[tuple[Line, re.Match[str]]] = []
    active = False
    for line in lines:
        if line.words.rstrip().endswith(":"):
            active = line.words.strip() == "Active:"
        elif active and (found := _RAY_NODES.match(line.words)):
            nodes.append((line, found))
        elif found := _RAY_GPUS.match(line.words):
            yield _fact("n_gpus", int(found["count"]), line, found)
    if nodes:
        yield _fact("n_nodes", sum(int(found["count"]) for _, found in nodes), *nodes[0])
