"""The size of /dev/shm: as ``df`` prints it, as a container was started with it, or as somebody tells it.

Forms: docs.docker.com "docker run --shm-size" and compose "shm_size" (docker/go-units RAMInBytes: powers of 1024, a bare number is bytes),
man7.org df(1): with -h powers of 1024, else blocks of 1 KiB; kubernetes.io/docs/concepts/storage/volumes/#emptydir (medium, sizeLimit).
Ray tells the bytes that are free as it starts, and in the same warning a size to pass to docker, which is none that the container has
(ray 2.44 python/ray/_private/services.py: determine_plasma_store_config).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from diagnose.facts.hardware.memory_limits import CONTAINER
from diagnose.facts.sentences.prose import span_of
from diagnose.types import Fact, Line, Paste
from diagnose.units import GIB, KIB

_POWERS = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_DF = re.compile(
    r"^\s*\S+\s+(?P<size>\d{1,14}(?:\.\d)?)(?P<unit>[KMGT])?i?\s+\S+\s+\S+\s+\d{1,3}%\s+/dev/shm\s*$", re.A
)
_OPTION = re.compile(
    r"(?<![\w-])(?:--shm-size(?:=|\s+)|shm_size\s*[:=]\s*)[\"']?(?P<size>\d{1,13}(?:\.\d{1,2})?)\s?(?P<unit>[bkmgt]?)(?:i?b)?(?![\w.])",
    re.I | re.A,
)
# an emptyDir in memory: of a manifest, on one line or several, or as ``kubectl describe`` prints it
_IN_MEMORY = re.compile(r"\bmedium[\"']?:\s{0,12}[\"']?Memory\b", re.I | re.A)
_LIMIT = re.compile(r"\bsizeLimit[\"']?:\s{0,12}[\"']?(?P<size>\d{1,7}(?:\.\d{1,2})?)(?P<unit>[KMGT])i\b", re.I | re.A)
_NEAR = 2
_BYTES = re.compile(r"/dev/shm has only (?P<size>\d{6,14})(?P<unit>) bytes available", re.A)
_PASS = re.compile(r"\bby passing\b", re.I | re.A)
_HOST_IPC = re.compile(r"--ipc[= ]host\b", re.A)
_NAME = r"(?:/dev/shm|(?<![\w/.-])shm|\bshared[ -]memory|共享内存|\bSHMEM allocation limit)"
_AMOUNT = r"(?P<size>\d{1,4}(?:\.\d{1,2})?)\s?(?P<unit>[MGT])(?:i?B)?(?![A-Za-z/])"
_BETWEEN = (
    r"(?:\s{0,2}(?:size|limit|is|was|has|of|at|to|set|the default|already|only|just|now|currently|raised|increased|up"
    r"|from \S{1,8}|[:=：(（]|大小|上限|是|有|为|到|至|从 ?\w{1,6}|加|调|开|改|大|给|设|置|成|了|已经?|只|就|才|都)){0,6}"
)
_TOLD = (
    re.compile(rf"{_NAME}{_BETWEEN}\s{{0,2}}{_AMOUNT}", re.I | re.A),
    re.compile(rf"(?<![\w.]){_AMOUNT}\s?(?:of |的)?\s?(?:/dev/shm|shm\b|shared memory|共享内存)", re.I | re.A),
)
# a use, a need or a proposal is no size
_OTHERWISE = re.compile(
    r"\b(?:needs?|required?|requires|wants?|us(?:es|ed|ing)|takes?|fills?|should|would|try|recommend\w*|suggest\w*|instead of|less than)\b"
    r"|需要|占用?|用了|建议|要不要|是否|[?？]",
    re.I | re.A,
)
_OF_IT = re.compile(r"^\s*(?:/|of\b|used\b|free\b|avail|in use\b|left\b|可用|剩|被占|已用)", re.I | re.A)


def shared_memory(paste: Paste, speech: Sequence[Line]) -> dict[str, Fact]:
    """GiB of /dev/shm. What ``df`` measured comes first, then how the container was started; words that differ tell nothing."""
    for found in (_printed(paste.lines), _started(paste.lines), _of_pod(paste.lines)):
        if (fact := next(found, None)) is not None:
            return {fact.id: fact}
    told = {fact.value: fact for line in speech for fact in _of_words(line)}
    return {"shm_gib": next(iter(told.values()))} if len(told) == 1 else {}


def _printed(lines: Sequence[Line]) -> Iterator[Fact]:
    for line in lines:
        if "/dev/shm" not in line.words:
            continue
        if found := _DF.match(line.words):
            yield _fact(line, found, default="k")
        elif found := _BYTES.search(line.words):
            yield _fact(line, found, default="b")


def _started(lines: Sequence[Line]) -> Iterator[Fact]:
    """``docker run`` with the lines that continue it, and compose files; with the host's own /dev/shm the option says nothing."""
    inside = shared = False
    for line in lines:
        begins = bool(CONTAINER.search(line.words))
        inside, shared = inside or begins, (shared and not begins) or bool(_HOST_IPC.search(line.words))
        found = None if _PASS.search(line.words) else _OPTION.search(line.words)
        if found and not shared and (inside or found[0].lower().startswith("shm_size")):
            yield _fact(line, found, default="b")
        inside = inside and line.words.rstrip().endswith("\\")


def _of_pod(lines: Sequence[Line]) -> Iterator[Fact]:
    """The limit of a pod's volume in memory, where the text mounts one at /dev/shm."""
    if not any("/dev/shm" in line.words for line in lines):
        return
    for at, line in enumerate(lines):
        if _IN_MEMORY.search(line.words):
            near = lines[max(0, at - _NEAR) : at + _NEAR + 1]
            limits = [(one, found) for one in near if (found := _LIMIT.search(one.words))]
            if len(limits) == 1:
                yield _fact(*limits[0], default="g")


def _of_words(line: Line) -> Iterator[Fact]:
    words = line.words.lower()
    if "shm" not in words and "shared" not in words and "共享内存" not in words:
        return
    if _PASS.search(words) or _OTHERWISE.search(words):
        return
    option = _OPTION.search(line.words)
    if option and not _HOST_IPC.search(line.words):
        yield _fact(line, option, default="b")
        return
    found = next((found for form in _TOLD if (found := [*form.finditer(line.words)])), [])
    for one in found:
        if not _OF_IT.match(line.words[one.end() :]):
            yield _fact(line, one, default="g")


def _fact(line: Line, found: re.Match[str], default: str) -> Fact:
    power = _POWERS[(found["unit"] or default).lower()]
    gib = round(float(found["size"]) * KIB**power / GIB, 3)
    value = int(gib) if gib.is_integer() else gib
    return Fact("shm_gib", value, "read", written=found[0].strip(), span=span_of(line, found))
