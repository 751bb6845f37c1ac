"""Growth over steps: a series that rises steadily to its end. What rises and then stays is warm-up, and a single jump is a step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression, median

from diagnose.types import Fact, Growth, Hit, Line, Measured, Span
from diagnose.units import GIB
from diagnose.vocabulary import POOL_OF_KIND

_POINTS = 4
# Three do where they lie apart and rise evenly: over fewer steps the first ones' caches and lazy state rise by themselves. Peaks do not,
# since the highest so far only ever rises. The bounds are our choice, as those of told_growth.py.
_FEW, _APART, _FEW_RISE, _EVEN = 3, 8, 1.05, 2.0
# Below both, a rise is lost in what lengths and caches do from step to step.
_LEAST = GIB // 2
_LEAST_SHARE = 0.02
# The later half must rise at least this much of what the whole does a step, or the series has come to rest.
_GOES_ON = 0.4
# A line through the points must explain this share of their spread, else they wander.
_STRAIGHT = 0.8
# What rises by this share of the whole within less than that share of the steps is a jump.
_JUMP = 0.6


@dataclass(frozen=True, slots=True)
class Point:
    step: int
    bytes: int
    span: Span


def growth(measured: Measured, points: list[Point]) -> Growth | None:
    """The growth of one thing, or None: too few steps, a rise too small, a jump, a plateau, or a wandering."""
    highest: dict[int, Point] = {}
    for point in points:
        if point.step not in highest or point.bytes > highest[point.step].bytes:
            highest[point.step] = point
    line = [highest[step] for step in sorted(highest)]
    enough = len(line) >= _POINTS or (measured.moment != "peak" and _clear(line))
    if not enough or measured.counter not in ("host", "host_used", "device", "reserved", "allocated"):
        return None
    first, last = line[0], line[-1]
    rise = last.bytes - first.bytes
    if rise < max(_LEAST, first.bytes * _LEAST_SHARE) or not _steady(line, rise):
        return None
    each = _slope(line)
    return Growth(
        pool=measured.pool,
        counter=measured.counter,
        each=each,
        first=(first.step, first.bytes),
        last=(last.step, last.bytes),
        points=len(line),
        span=last.span,
        title=measured.title,
        peak=measured.moment == "peak",
    )


def _clear(line: list[Point]) -> bool:
    """Whether three points lie far apart and rise evenly: neither rise is more than twice, or less than half, of the whole a step."""
    if len(line) != _FEW or line[-1].step - line[0].step < _APART or line[-1].bytes < _FEW_RISE * line[0].bytes:
        return False
    whole = _rate(line[0], line[-1])
    return all(whole / _EVEN <= _rate(*pair) <= whole * _EVEN for pair in zip(line, line[1:], strict=False))


def _rate(before: Point, after: Point) -> float:
    return (after.bytes - before.bytes) / (after.step - before.step)


def _steady(line: list[Point], rise: int) -> bool:
    """Whether it rises as a line does and to its end."""
    pairs, steps = list(zip(line, line[1:], strict=False)), line[-1].step - line[0].step
    rises = [after.bytes - before.bytes for before, after in pairs]
    jumps = any(
        up > _JUMP * rise and after.step - before.step < _JUMP * steps
        for up, (before, after) in zip(rises, pairs, strict=True)
    )
    if jumps or sum(up > 0 for up in rises) * 2 <= len(rises):
        return False
    middle = len(line) // 2
    whole = rise / steps
    late = (line[-1].bytes - line[middle].bytes) / (line[-1].step - line[middle].step)
    return late >= _GOES_ON * whole and _straightness(line) >= _STRAIGHT


def _slope(line: list[Point]) -> float:
    """Bytes a step; by medians of the slopes between points, so that one odd reading moves nothing."""
    slopes = [
        (after.bytes - before.bytes) / (after.step - before.step)
        for i, before in enumerate(line)
        for after in line[i + 1 :: max(1, len(line) // 32)]
    ]
    return median(slopes)


def _straightness(line: list[Point]) -> float:
    """The share of the spread that a straight line explains (R²)."""
    steps, sizes = [float(point.step) for point in line], [float(point.bytes) for point in line]
    slope, start = linear_regression(steps, sizes)
    mean = sum(sizes) / len(sizes)
    spread = sum((size - mean) ** 2 for size in sizes)
    rest = sum((size - start - slope * step) ** 2 for step, size in zip(steps, sizes, strict=True))
    return 1 - rest / spread if spread else 0.0


# somebody speaks of growth; whether it is one, the series says
_GROWS = re.compile(
    r"(?:\bmemory\b|\bV?RAM\b|\brss\b|内存|显存)[^.。;；\n]{0,40}(?:\b(?:leak|grow|creep|climb|ris(?:e|ing)|increas)\w*|[上增]?涨|增|升|泄[漏露])"
    r"|\bleak(?:s|ing|age)?\b",
    re.I | re.A,
)
_DENIED = re.compile(
    r"(?:\bno|\bnot|n['’]t|\bwithout|\bnever)\s+(?:an?\s+|any\s+|be\s+)?(?:memory\s+)?(?:leak|grow|creep|climb|ris|increas)"
    r"|[不没]有?是?(?:内存|显存)?(?:[上增]?涨|增|升|泄)",
    re.I | re.A,
)


def speaks_of_growth(speech: Sequence[Line]) -> bool:
    """Whether somebody says that memory grows."""
    return any(_GROWS.search(line.words) and not _DENIED.search(line.words) for line in speech)


def as_kind(kind: Fact | None, grown: tuple[Growth, ...], speech: Sequence[Line], *, told: bool) -> Fact | None:
    """The failure as a growth over steps, where what ran out is what grew; None where nothing says so.

    Of a run that has not failed somebody must say that memory grows, or have ``told`` the steps: caches fill too. Peaks on a card follow
    the lengths of a step, so that their rise alone is no leak.
    """
    if kind is None and not told and not speaks_of_growth(speech):
        return None
    pool = POOL_OF_KIND.get(str(kind.value)) if kind else None
    leak = next((one for one in grown if pool in (None, one.pool) and not one.peak), None)
    if leak is None:
        return None
    return Fact("oom_kind", "memory_growth", "read", written=leak.title, span=leak.span, why="it rises step by step")


# answers that are so much longer than at first make the peak of a step higher by themselves
_LONGER = 1.5


def of_longer_rows(
    kind: Fact | None, grown: Sequence[Growth], lengths: tuple[float, float], hits: Sequence[Hit]
) -> Fact | None:
    """A card's own message in place of words on growth, where only peaks rise and the answers with them; else None.

    ``lengths`` are the first and the longest mean length of answers that the log prints.
    """
    if kind is None or kind.value != "memory_growth" or not 0 < lengths[0] * _LONGER <= lengths[1]:
        return None
    message = next((hit for hit in hits if hit.signature.kind == "gpu_oom" and hit.signature.strength > 1), None)
    if message is None or not grown or not all(one.peak and one.pool == "gpu" for one in grown):
        return None
    return Fact("oom_kind", "gpu_oom", "read", written=message.signature.title, span=message.span)


def longer_rows(lengths: tuple[float, float]) -> str:
    """The words that tell it."""
    return (
        f"The log’s responses get longer, from {lengths[0]:,.0f} to {lengths[1]:,.0f} tokens, and a step’s peak with them: "
        "only memory that rises at equal lengths is a leak."
    )
