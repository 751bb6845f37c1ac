"""Which of the messages of a paste says what ran out, and whose memory a line speaks of."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnose.facts.failing.advised import without_advice
from diagnose.facts.failing.said import FAILURE
from diagnose.facts.failing.signature import is_mark
from diagnose.knowledge.records import Signature
from diagnose.types import Fact, Facts, Hit, Paste
from diagnose.vocabulary import Origin, Pool


def settle_kind(hits: Sequence[Hit], paste: Paste) -> Fact | None:
    """What ran out. Growth told in words outranks any message; else the strongest, and of equals a host kill, then the first."""
    hits = _without_aftermath(_of_memory(hits, paste))
    if not hits:
        return None
    growth = [hit for hit in hits if hit.signature.kind == "memory_growth"]
    hit = growth[0] if growth else min(hits, key=_rank)
    kind = hit.signature.kind
    as_strong = [found.signature for found in hits if found.signature.strength == hit.signature.strength]
    pools = {one.kind for one in as_strong if not one.presumed}
    if hit.signature.strength == 1 and {"gpu_oom", "host_ram"} <= pools and not growth:
        kind = "other"
    if kind == "other" and (_raised_on_card(paste) or (hit.signature.strength == 1 and _speaks_of_cards(paste))):
        kind = "gpu_oom"
    presumed = hit.signature.presumed if kind == hit.signature.kind else ""
    if presumed and any(other.signature.kind == kind and not other.signature.presumed for other in hits):
        presumed = ""
    origin: Origin = "assumed" if presumed else "read"
    return Fact("oom_kind", kind, origin, written=hit.signature.title, span=hit.span, why=presumed)


def not_memory(facts: Facts) -> Signature | None:
    """What tells another failure than one of memory, where nothing tells one of memory: who ended the run, else the first message."""
    found = [hit.signature for hit in facts.hits if hit.signature.not_memory]
    return min(found, key=lambda one: not one.ends, default=None) if "oom_kind" not in facts.values else None


def told_other(facts: Facts) -> bool:
    """Whether a failure that is none of memory is told before a message that leaves the cause open, and nobody says that it is memory."""
    if facts.values.get("oom_kind") != "other" or not cause_open(facts):
        return False
    told = min((hit.span.line for hit in facts.hits if hit.signature.not_memory), default=None)
    own = [hit for hit in facts.hits if hit.signature.kind == "other" and not is_mark(hit.signature)]
    return told is not None and all(hit.span.line > told and hit.signature.strength <= _OPEN for hit in own)


def cause_open(facts: Facts) -> bool:
    """Whether a program's message alone tells of a failure that may be one of memory, and nobody says that it is."""
    own = [hit.signature for hit in facts.hits if hit.signature.kind == "other" and not is_mark(hit.signature)]
    said = any(signature.strength == 1 and not signature.phase for signature in own)
    return any(signature.strength >= 2 for signature in own) and not said


def _of_memory(hits: Sequence[Hit], paste: Paste) -> list[Hit]:
    """The hits that tell a failure of memory: words that only place a failure tell none where nothing in the text is about memory."""
    ended = any(hit.signature.ends for hit in hits)
    hits = [hit for hit in hits if not _is_apart(hit, hits, paste)]
    found = [hit for hit in hits if not is_mark(hit.signature) and not (ended and _is_open(hit.signature))]
    if any(hit.signature.not_memory and hit.signature.strength >= 2 for hit in hits):
        found = [hit for hit in found if hit.signature.strength > 1 or not _is_asked(hit, paste)]
    found = [hit for hit in found if not _is_searched(hit, paste) and not _is_repeated(hit, hits, paste)]
    if all(hit.signature.strength == 1 and hit.signature.phase for hit in found):
        other = any(hit.signature.not_memory for hit in hits)
        said = [without_advice(line.words) for line in paste.lines]
        if other or not any(_MEMORY.search(words) for words in said) or _only_hangs(said):
            return []
    if all(hit.signature.state for hit in found) and not any(_ended(line.words) for line in paste.lines):
        return []
    well = max((line.number for line in paste.lines if _ENDED_WELL.match(line.words)), default=0)
    return [hit for hit in found if hit.span.line > well]


def _is_apart(hit: Hit, hits: Sequence[Hit], paste: Paste) -> bool:
    """Whether the words stand within those of a process beside the training, or end a traceback that runs through one."""
    for other in (one for one in hits if one.signature.apart and one is not hit):
        if other.span.line == hit.span.line and other.span.start <= hit.span.start and hit.span.end <= other.span.end:
            return True
        framed = any(frame.line == other.span.line for frame in paste.frames)
        if framed and 0 < hit.span.line - other.span.line <= _OF_A_FRAME:
            return True
    return False


def _is_open(signature: Signature) -> bool:
    """Whether a signal alone makes the kind likely, or a program only says that a process is gone."""
    return bool(signature.presumed) or (signature.kind == "other" and signature.strength == _OPEN)


def _is_asked(hit: Hit, paste: Paste) -> bool:
    """Whether somebody asks if it is memory: “is this an OOM?”, “是显存不够吗”."""
    line = paste.line(hit.span.line)
    return line is not None and bool(_ASKED.match(line.text, hit.span.end))


def _is_searched(hit: Hit, paste: Paste) -> bool:
    """Whether the words are what a command looks for: “dmesg | grep -i oom”."""
    line = paste.line(hit.span.line)
    return line is not None and bool(_SEARCH.search(line.text[: hit.span.end]))


def _is_repeated(hit: Hit, hits: Sequence[Hit], paste: Paste) -> bool:
    """Whether a sentence repeats words of a message that tells another failure: “Cannot allocate memory, but 880G are free?”."""
    line = paste.line(hit.span.line)
    if line is None or _RAISED.search(line.text):
        return False
    words = line.text[hit.span.start : hit.span.end].lower()
    others = {one.span.line for one in hits if one.signature.not_memory} - {hit.span.line}
    return bool(words) and any(words in other.text.lower() for number in others if (other := paste.line(number)))


def _ended(words: str) -> bool:
    """Whether words say that something failed, or is there no more."""
    return bool(FAILURE.search(without_advice(words)) or _GONE.search(words))


def _only_hangs(said: Sequence[str]) -> bool:
    """Whether the text tells that the run stands still, and of no other failure."""
    without = [_HANGS.sub("", words) for words in said]
    return without != list(said) and not any(FAILURE.search(words) for words in without)


def _without_aftermath(hits: list[Hit]) -> list[Hit]:
    """The hits without what the driver told other processes after somebody saw one die on the host: the first in time is the cause."""
    seen = min((hit.span.line for hit in hits if hit.signature.witness), default=None)
    raw = [hit.span.line for hit in hits if hit.signature.kind == _BY_DRIVER]
    if seen is None or min(raw, default=0) < seen:
        return hits
    return [hit for hit in hits if hit.signature.kind != _BY_DRIVER]


_ASKED = re.compile(r"[^.,;:。，；：!！\n]{0,24}?(?:[?？]|[吗么嘛]\s*(?:$|[.。!！]))", re.A)
_SEARCH = re.compile(r"\b[ez]?grep(?:[ \t]+-\w+)*[ \t]+(?:[\"'][^\"'\n]{0,80}|[^\s\"']{0,80})$", re.A)
_RAISED = re.compile(r"(?:Error|Exception)\b\s{0,4}:|\[Errno|\b(?:WARN|ERROR)\b", re.A)
_BY_DRIVER = "gpu_oom_raw"
_OF_A_FRAME = 3  # lines behind one, its line of code and the error
_OPEN = 2  # strength of a message that names no cause
_MEMORY = re.compile(r"OOM|\bmemory\b|显存|内存|爆|炸|kill|杀|\bV?RAM\b|\b(?:137|-9)\b|SIGKILL", re.I | re.A)
_GONE = re.compile(
    r"\b(?:disappear(?:s|ed)?|vanish(?:es|ed)?|(?:is|are|was|were) gone|exit(?:s|ed)|terminated|lost)\b|消失|不见了|没了|退出|中断|断了",
    re.I | re.A,
)
_HANGS = re.compile(r"卡[死住](?:不动)?|\bhangs?\b|\bhung\b|\bstuck\b|\bfreez\w+", re.I | re.A)
# what a log ends with where the run did: an error before it was got over
_ENDED_WELL = re.compile(r"\W{0,8}training (?:has )?(?:completed|finished)(?: successfully)?\W{0,8}$", re.I | re.A)
# a tensor library's own frames: a Python exception there is the allocator's, a host kill leaves none
_TENSORS = re.compile(r"(?:^|/)(?:torch|transformers|accelerate)/(?!distributed/(?:run|launcher|elastic))", re.A)
# “not GPU memory” speaks of the other one
_NO = r"(?<!不是)(?<!不是 )(?<!而非)(?<!并非)(?<!\bnot )(?<!\bnot the )"
_OF_CARDS = re.compile(
    rf"{_NO}(?:显存|(?:片上|设备|[GN]PU) ?内存|\b(?:VRAM|HBM)\b|\b(?:gpu|npu|cuda|video|device) memory\b)", re.I | re.A
)
_OF_HOST = re.compile(
    rf"{_NO}(?:(?<![显上备])(?<![GN]PU)(?<![GN]PU )内存|\bRAM\b|\b(?:host|cpu|system|node|main)[ -]memory\b)"
    r"|/dev/shm|\bkilled\b|OOM[ -]?killer",
    re.I | re.A,
)


_AND = re.compile(r"\s*(?:and|as well as|[,/&、]|和|与|及|跟)?\s*", re.A)


def _raised_on_card(paste: Paste) -> bool:
    """Whether a traceback runs through a tensor library."""
    return any(_TENSORS.search(frame.path) for frame in paste.frames)


def _speaks_of_cards(paste: Paste) -> bool:
    """Whether the text beside a bare word of failure is about a card's memory and nowhere about the host's."""
    words = [line.words for line in paste.lines if line.words[:1] != "|"]  # a table of cards speaks of no failure
    return any(_OF_CARDS.search(line) for line in words) and not any(_OF_HOST.search(line) for line in words)


def spoken_pool(words: str, start: int = 0, end: int | None = None) -> Pool | None:
    """Whose memory a line speaks of; None where it speaks of both, or says only memory.

    Where the part from ``start`` to ``end`` says what grows, it is the memory that is named last before that: “GPU memory is stable
    at 60GB but host memory keeps growing”.
    """
    named = [(found, "gpu") for found in _OF_CARDS.finditer(words)] + [
        (found, "host") for found in _OF_HOST.finditer(words)
    ]
    named.sort(key=lambda one: one[0].start())
    inside = [one for one in named if end is not None and start < one[0].end() and one[0].start() < end]
    if len(inside) > 1 and _AND.fullmatch(words, inside[-2][0].end(), inside[-1][0].start()):
        return None
    pools: set[Pool] = {"gpu" if pool == "gpu" else "host" for _, pool in inside[-1:] or named}
    return pools.pop() if len(pools) == 1 else None


def _rank(hit: Hit) -> tuple[bool, int, bool, bool, int]:
    signature = hit.signature
    # words that name a memory outrank those that only let it be likely
    presumed = bool(signature.presumed) and signature.strength == 1
    host = signature.kind in ("host_ram", "host_shm")
    return signature.kind == "other", -signature.strength, presumed, not host, hit.span.line
