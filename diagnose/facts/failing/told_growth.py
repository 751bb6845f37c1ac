"""Growth in a person's own words: “62GB at step 10, 71GB at step 50”, “第1步 40G，第100步 72G”."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from diagnose.facts.sentences.prose import span_of
from diagnose.types import Fact, Growth, Line, Span
from diagnose.units import PRINTED
from diagnose.vocabulary import Pool

_SIZE = r"(?<![\d.])(?P<size>\d{1,4}(?:\.\d{1,3})?)\s*(?P<unit>[GT])(?:i?B)?(?![A-Za-z\d])"
_ROUGHLY = r"(?:\s*(?:about|around|roughly|already|only|over|[~≈约]|大概|大约|左右|已经))*\s*"
_STEPS = r"(?:training |global |optimi[sz]er )?(?:steps?|iterations?|iters?)"
_MEMORY = r"(?:\s*(?:的|gpu|host|主机|系统)?\s*(?:memory|ram|内存|显存)\s*)?"
_LINK = rf"\s*(?:时|的时候|后|之后|的)?{_MEMORY}\s*(?:[:：=(（]|is|was|it is|at|->|→|—|–|-|用了?|占了?|是|到|涨到|就)?"


def _first(size: str) -> re.Pattern[str]:
    """A size and then its step."""
    return re.compile(
        rf"{size}{_ROUGHLY}(?:at|after|by|@|in|on)\s+{_ROUGHLY}"
        rf"(?:{_STEPS}\s*#?(?P<step>\d{{1,6}})|(?P<after>\d{{1,6}})\s*{_STEPS}|(?:the\s+)?(?:very\s+)?(?:start|beginning|first step))",
        re.I | re.A,
    )


def _behind(size: str) -> tuple[re.Pattern[str], ...]:
    """A step and then its size."""
    return (
        re.compile(rf"\b{_STEPS}\s*#?(?P<step>\d{{1,6}}),?{_LINK}{_ROUGHLY}{size}", re.I | re.A),
        re.compile(rf"(?<![\d.])(?P<step>\d{{1,6}})\s*(?:个\s*)?(?:步|step)[,，]?{_LINK}{_ROUGHLY}{size}", re.I | re.A),
        re.compile(
            rf"(?:一开始|刚开始|起初|开始时?|initially|at (?:the )?(?:start|beginning)){_LINK}{_ROUGHLY}{size}",
            re.I | re.A,
        ),
    )


_SIZE_FIRST, _STEP_FIRST = _first(_SIZE), _behind(_SIZE)
# what a tracker's chart shows: shares of the memory that the line names, or figures in the unit of the metric’s name
_SHARE = r"(?<![\d.])(?P<size>\d{1,2}(?:\.\d{1,2})?)\s?(?P<unit>%)"
_SHARES = (_first(_SHARE), _behind(_SHARE))
_BARE = r"(?<![\d.])(?P<size>\d{1,4}(?:\.\d{1,3})?)(?P<unit>)(?![\w%:/-]|\.\d)"
_BARES = (_first(_BARE), _behind(_BARE))
_IN_GIB = re.compile(
    r"mem\w*_gi?b\b|\bmem(?:ory)?[^.;\n\d]{0,24}(?:\bin gi?b\b|\(gi?b\))|[内显]存[^。；\n\d]{0,12}[(（]\s?gi?b?\s?[)）]",
    re.I | re.A,
)
_OF_MEMORY = re.compile(r"\bmem(?:ory)?\b|\bv?ram\b|[内显]存", re.I | re.A)
_OF_ELSE = re.compile(r"util|\bacc(?:uracy)?\b|score|reward|progress|\brate\b|利用率|准确率|进度", re.I | re.A)
_CLAUSE = re.compile(r"[.;!?。；！？](?:\s|$)", re.A)
# “grown from 14GB to 23.5GB” in a sentence that counts the steps it took
_RISE = re.compile(
    rf"(?:\bfrom|从){_ROUGHLY}(?<![\d.])(?P<low>\d{{1,4}}(?:\.\d{{1,3}})?)\s*(?P<low_unit>[GT])(?:i?B)?\s*"
    rf"(?:up to|to|until|->|→|(?:一直|慢慢|逐渐|逐步)?[涨增升长]?到了?){_ROUGHLY}{_SIZE}"
    r"(?!\s*(?:cards?|gpus?|nodes?|machines?|[AHBLV]\d{2,3}|的?显?卡))",
    re.I | re.A,
)
_GROWS = re.compile(r"\b(?:gr[eo]w|climb|creep|crept|increas|ris(?:e|ing)|rose|leak)|[涨增]|上升|泄[漏露]", re.I | re.A)
_SO_MANY = re.compile(
    rf"(?<![\d.])(?P<steps>\d{{1,6}})\s*(?:(?:多|来)?\s*个?\s*步|{_STEPS}\b)|\bstep\s*#?(?P<step>\d{{1,6}})|第\s*(?P<nth>\d{{1,6}})\s*步",
    re.I | re.A,
)
_HOST = re.compile(r"(?<![Vv])\bRAM\b|\b(?:host|system|cpu|node|rss)\b|\bcpu_mem|(?<!显)内存|主机", re.I | re.A)
_CARD = re.compile(r"\b(?:gpu|vram|cuda|reserved|allocated|nvidia-smi)\b|\bmax_memory_\w{4,12}_gb\b|显存", re.I | re.A)
_NAMES: tuple[tuple[Pool, re.Pattern[str]], ...] = (("host", _HOST), ("gpu", _CARD))
_COUNTERS = (
    ("reserved", re.compile(r"\breserved\b", re.I | re.A)),
    ("allocated", re.compile(r"\ballocated\b", re.I | re.A)),
)
# These bounds are our choice. Sizes that are a card's reach at least this share of it, and none of them is larger than the card
_OF_A_CARD, _WHOLE_CARD = 0.5, 1.02
_BEYOND_CARDS = 300 * PRINTED["gib"]  # more than any card of the catalogue has
_LEAST_RISE = 1.05
_OF_EACH_STEP = re.compile(
    r"\b(?:after |at |in )?(?:each|every|per) (?:training )?step|\bstep by step|每一?个?步|每一?个?\s?step"
    r"|\b(?:perf/)?(?:max_|cpu_)mem\w*_gb\b",
    re.I | re.A,
)
_JOINT = r"\s*(?:G(?:i?B)?)?\s*(?:,|，|、|;|/|-{1,2}>|→|=>|\s)\s*(?:then )?"
_SERIES = re.compile(
    rf"(?<![\d.\w-])\d{{1,4}}(?:\.\d{{1,3}})?(?:{_JOINT}\d{{1,4}}(?:\.\d{{1,3}})?){{3,20}}(?![\d.%])", re.I | re.A
)
_NO_SIZE = re.compile(
    r"len(?:gth)?s?\b|length|tokens?\b|seconds?\b|\btimes?\b|reward|score|长度|耗时|奖励", re.I | re.A
)
_NUMBER = re.compile(r"\d{1,4}(?:\.\d{1,3})?", re.A)
_IN_A_ROW = 4  # readings of steps in a row, of which each is larger than the one before
_CLEAR_RISE = 1.15
_ENOUGH = 2  # readings: who tells two, some steps apart, tells that it grows
_APART = 8  # steps between the first and the last: over fewer the first ones' caches and lazy state rise by themselves


class _Reading(NamedTuple):
    step: int
    bytes: int
    span: Span
    written: str


def told_growth(speech: Sequence[Line], stated: Mapping[str, Fact]) -> Growth | None:
    """The growth of one memory over the steps that somebody names; None with fewer than two, or where one of them is no rise."""
    readings = sorted({one.step: one for line in speech for one in _readings(line, stated)}.values())
    if not readings:
        readings = next((found for line in speech if (found := _in_a_row(line))), [])
    apart = len(readings) >= _ENOUGH and readings[-1].step - readings[0].step >= _APART
    if not _rises(readings) or not (apart or _clearly_rises(readings)):
        return None
    places = {one.span.line for one in readings}
    words = " ".join(line.words for line in speech if line.number in places)
    # of a list of readings the line above it tells what was read
    above = " ".join(line.words for line in speech if line.number == min(places) - 1)
    pool = _pool(words, readings, stated) or _pool(above, readings, stated)
    if pool is None:
        return None
    first, last = readings[0], readings[-1]
    return Growth(
        pool=pool,
        counter=_counter(words, pool),
        each=(last.bytes - first.bytes) / (last.step - first.step),
        first=(first.step, first.bytes),
        last=(last.step, last.bytes),
        points=len(readings),
        span=last.span,
        title="as you tell it",
    )


def _in_a_row(line: Line) -> list[_Reading]:
    """Sizes of one step after the other, as a list: “reserved after each step: 61, 65, 70, 74, then OOM”."""
    named, found = _OF_EACH_STEP.search(line.words), _SERIES.search(line.words)
    if named is None or found is None or found.start() < named.start():
        return []
    before = line.words[: found.start()]
    if _NO_SIZE.search(before) or not any(form.search(before) for form in (_OF_MEMORY, _HOST, _CARD)):
        return []
    sizes = [_bytes(one[0], "G") for one in _NUMBER.finditer(found[0])]
    return [_Reading(step, size, span_of(line, found), found[0]) for step, size in enumerate(sizes, 1)]


def _readings(line: Line, stated: Mapping[str, Fact]) -> Iterator[_Reading]:
    """Sizes with the step that each names; a line that puts sizes first does so throughout."""
    if rise := list(_rise(line)):
        yield from rise
        return
    found = _found(line.words, _SIZE_FIRST, _STEP_FIRST)
    if not found and _IN_GIB.search(line.words):
        found = _found(line.words, *_BARES)
    each = float(PRINTED["gib"])
    if not found and (shares := _found(line.words, *_SHARES)):
        named = _CLAUSE.split(line.words[: shares[0].start()])[-1]
        whole = 0.0 if _OF_ELSE.search(named) or not _OF_MEMORY.search(named) else _whole(named, stated)
        found, each = shares if whole else [], whole / 100
    for one in found:
        named = one.groupdict()
        step = named.get("step") or named.get("after") or "0"
        size = _bytes(one["size"], one["unit"]) if one["unit"].isalpha() else round(float(one["size"]) * each)
        yield _Reading(int(step), size, span_of(line, one), one[0])


def _found(words: str, first: re.Pattern[str], behind: Sequence[re.Pattern[str]]) -> list[re.Match[str]]:
    return list(first.finditer(words)) or [one for form in behind for one in form.finditer(words)]


def _whole(words: str, stated: Mapping[str, Fact]) -> float:
    """Bytes of the one memory that the words name, of which a share is told; 0 where its size is not known."""
    host, card = bool(_HOST.search(words)), bool(_CARD.search(words))
    size = stated.get("host_ram_gb" if host else "gpu_mem_gib") if host != card else None
    known = size is not None and isinstance(size.value, (int, float))
    return float(size.value) * PRINTED["gib"] if known and size is not None else 0.0


def _rise(line: Line) -> Iterator[_Reading]:
    """Two sizes of which one grew into the other, from the start to the one step that the line names, if it names one."""
    found, steps = _RISE.search(line.words), list(_SO_MANY.finditer(line.words))
    if found is None or len(steps) != 1 or not _GROWS.search(line.words):
        return
    yield _Reading(0, _bytes(found["low"], found["low_unit"]), span_of(line, found), found[0])
    yield _Reading(
        int(next(filter(None, steps[0].groups()))), _bytes(found["size"], found["unit"]), span_of(line, found), found[0]
    )


def _bytes(size: str, unit: str) -> int:
    return round(float(size) * PRINTED[f"{unit.lower()}ib"])


def _rises(readings: Sequence[_Reading]) -> bool:
    """Whether each is larger than the one before it, and the last one clearly than the first."""
    sizes = [one.bytes for one in readings]
    return (
        len(sizes) >= _ENOUGH
        and all(after > before for before, after in zip(sizes, sizes[1:], strict=False))
        and sizes[-1] > _LEAST_RISE * sizes[0]
    )


def _clearly_rises(readings: Sequence[_Reading]) -> bool:
    """Whether so many steps in a row took more each that no first caches explain it."""
    in_a_row = len(readings) >= _IN_A_ROW and readings[-1].step - readings[0].step == len(readings) - 1
    return in_a_row and readings[-1].bytes > _CLEAR_RISE * readings[0].bytes


def _pool(words: str, readings: Sequence[_Reading], stated: Mapping[str, Fact]) -> Pool | None:
    """Whose memory it is: by answer, by the one that is named, else by the card's size."""
    answered = stated.get("growing_pool")
    if answered is not None and answered.value in ("gpu", "host"):
        return "gpu" if answered.value == "gpu" else "host"
    host, card = bool(_HOST.search(words)), bool(_CARD.search(words))
    if host != card:
        return "host" if host else "gpu"
    if host and (nearest := _nearest(words, readings[0])):
        return nearest
    most, size = readings[-1].bytes, stated.get("gpu_mem_gib")
    if size is not None and isinstance(size.value, (int, float)):
        whole = size.value * PRINTED["gib"]
        return "gpu" if _OF_A_CARD * whole <= most <= _WHOLE_CARD * whole else None
    return "host" if most > _BEYOND_CARDS else None


def _nearest(words: str, first: _Reading) -> Pool | None:
    """The memory that is named last before the sizes begin."""
    start = words.find(first.written)
    named = [(found.end(), pool) for pool, form in _NAMES for found in form.finditer(words, 0, max(start, 0))]
    return max(named)[1] if named else None


def _counter(words: str, pool: Pool) -> str:
    if pool == "host":
        return "host"
    return next((counter for counter, form in _COUNTERS if form.search(words)), "device")
