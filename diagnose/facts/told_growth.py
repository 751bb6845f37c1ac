"""Growth in a person's own words: “62GB at step 10, 71GB at step 50”, “第1步 40G，第100步 72G”."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from diagnose.facts.prose import span_of
from diagnose.types import Fact, Growth, Line, Span
from diagnose.units import PRINTED
from diagnose.vocabulary import Pool

_SIZE = r"(?<![\d.])(?P<size>\d{1,4}(?:\.\d{1,3})?)\s*(?P<unit>[GT])(?:i?B)?(?![A-Za-z\d])"
_ROUGHLY = r"(?:\s*(?:about|around|roughly|already|only|over|[~≈约]|大概|大约|左右|已经))*\s*"
_STEPS = r"(?:training |global |optimi[sz]er )?(?:steps?|iterations?|iters?)"
_MEMORY = r"(?:\s*(?:的|gpu|host|主机|系统)?\s*(?:memory|ram|内存|显存)\s*)?"
_LINK = rf"\s*(?:时|的时候|后|之后|的)?{_MEMORY}\s*(?:[:：=(（]|is|was|it is|at|->|→|—|–|-|用了?|占了?|是|到|涨到|就)?"
_SIZE_FIRST = re.compile(
    rf"{_SIZE}{_ROUGHLY}(?:at|after|by|@|in|on)\s+{_ROUGHLY}"
    rf"(?:{_STEPS}\s*#?(?P<step>\d{{1,6}})|(?P<after>\d{{1,6}})\s*{_STEPS}|(?:the\s+)?(?:very\s+)?(?:start|beginning|first step))",
    re.I | re.A,
)
_STEP_FIRST = (
    re.compile(rf"\b{_STEPS}\s*#?(?P<step>\d{{1,6}}),?{_LINK}{_ROUGHLY}{_SIZE}", re.I | re.A),
    re.compile(rf"(?<![\d.])(?P<step>\d{{1,6}})\s*(?:个\s*)?(?:步|step)[,，]?{_LINK}{_ROUGHLY}{_SIZE}", re.I | re.A),
    re.compile(
        rf"(?:一开始|刚开始|起初|开始时?|initially|at (?:the )?(?:start|beginning)){_LINK}{_ROUGHLY}{_SIZE}",
        re.I | re.A,
    ),
)
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
_HOST = re.compile(r"(?<![Vv])\bRAM\b|\b(?:host|system|cpu|node|rss)\b|(?<!显)内存|主机", re.I | re.A)
_CARD = re.compile(r"\b(?:gpu|vram|cuda|reserved|allocated|nvidia-smi)\b|显存", re.I | re.A)
_COUNTERS = (
    ("reserved", re.compile(r"\breserved\b", re.I | re.A)),
    ("allocated", re.compile(r"\ballocated\b", re.I | re.A)),
)
# These bounds are our choice. Sizes that are a card's reach at least this share of it, and none of them is larger than the card
_OF_A_CARD, _WHOLE_CARD = 0.5, 1.02
_BEYOND_CARDS = 300 * PRINTED["gib"]  # more than any card of the catalogue has
_LEAST_RISE = 1.05
_ENOUGH = 2  # readings: who tells two, some steps apart, tells that it grows
_APART = 8  # steps between the first and the last: over fewer the first ones' caches and lazy state rise by themselves


class _Reading(NamedTuple):
    step: int
    bytes: int
    span: Span


def told_growth(speech: Sequence[Line], stated: Mapping[str, Fact]) -> Growth | None:
    """The growth of one memory over the steps that somebody names; None with fewer than two, or where one of them is no rise."""
    readings = sorted({one.step: one for line in speech for one in _readings(line)}.values())
    if len(readings) < _ENOUGH or readings[-1].step - readings[0].step < _APART or not _rises(readings):
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


def _readings(line: Line) -> Iterator[_Reading]:
    """Sizes with the step that each names; a line that puts sizes first does so throughout."""
    if rise := list(_rise(line)):
        yield from rise
        return
    found = list(_SIZE_FIRST.finditer(line.words)) or [one for form in _STEP_FIRST for one in form.finditer(line.words)]
    for one in found:
        named = one.groupdict()
        step = named.get("step") or named.get("after") or "0"
        yield _Reading(int(step), _bytes(one["size"], one["unit"]), span_of(line, one))


def _rise(line: Line) -> Iterator[_Reading]:
    """Two sizes of which one grew into the other, from the start to the one step that the line names, if it names one."""
    found, steps = _RISE.search(line.words), list(_SO_MANY.finditer(line.words))
    if found is None or len(steps) != 1 or not _GROWS.search(line.words):
        return
    yield _Reading(0, _bytes(found["low"], found["low_unit"]), span_of(line, found))
    yield _Reading(
        int(next(filter(None, steps[0].groups()))), _bytes(found["size"], found["unit"]), span_of(line, found)
    )


def _bytes(size: str, unit: str) -> int:
    return round(float(size) * PRINTED[f"{unit.lower()}ib"])


def _rises(readings: Sequence[_Reading]) -> bool:
    """Whether each is larger than the one before it, and the last one clearly than the first."""
    sizes = [one.bytes for one in readings]
    return (
        all(after > before for before, after in zip(sizes, sizes[1:], strict=False))
        and sizes[-1] > _LEAST_RISE * sizes[0]
    )


def _pool(words: str, readings: Sequence[_Reading], stated: Mapping[str, Fact]) -> Pool | None:
    """Whose memory it is: by answer, by the one that is named, else by the card's size."""
    answered = stated.get("growing_pool")
    if answered is not None and answered.value in ("gpu", "host"):
        return "gpu" if answered.value == "gpu" else "host"
    host, card = bool(_HOST.search(words)), bool(_CARD.search(words))
    if host != card:
        return "host" if host else "gpu"
    most, size = readings[-1].bytes, stated.get("gpu_mem_gib")
    if size is not None and isinstance(size.value, (int, float)):
        whole = size.value * PRINTED["gib"]
        return "gpu" if _OF_A_CARD * whole <= most <= _WHOLE_CARD * whole else None
    return "host" if most > _BEYOND_CARDS else None


def _counter(words: str, pool: Pool) -> str:
    if pool == "host":
        return "host"
    return next((counter for counter, form in _COUNTERS if form.search(words)), "device")
