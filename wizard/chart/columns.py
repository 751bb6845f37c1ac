"""The phase chart as columns: time runs left to right, the ceiling crosses it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby

from django.utils.safestring import SafeString

from wizard.chart import ghost
from wizard.chart.data import GROUP_WORDS, Column, Drawing, shown, spoken
from wizard.chart.svg import line, picture, rect, stacked, text


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the drawing stands: ``left`` per cent for the axis, then px from the top edge. ``labels``: figures and names as well."""

    height: int = 372
    top: float = 34
    base: float = 306
    sky: float = 16
    left: float = 5.2
    labels: bool = True


WIDE = Frame()
SMALL = Frame(height=236, top=46, base=208, sky=26, left=0, labels=False)
ROOMY = 9  # columns up to which each has room for its name at full size and for words beside its peak
ABOVE = 38  # px that two lines of figures take above a column
LETTERS = 11.5  # that fit a column of eight in a container of 680 px


@dataclass(frozen=True, slots=True)
class _Plot:
    drawing: Drawing
    frame: Frame
    top: float
    step: float

    def y(self, value: float) -> float:
        """The height of a value; what goes on above the axis ends at its top."""
        return self.frame.base - min(value, self.top) / self.top * (self.frame.base - self.frame.top)

    @property
    def slot(self) -> float:
        return (100 - self.frame.left) / len(self.drawing.columns)

    def left(self, place: int) -> float:
        return self.frame.left + (place + 0.11) * self.slot

    @property
    def crowded(self) -> bool:
        return len(self.drawing.columns) > ROOMY

    @property
    def width(self) -> float:
        return 0.78 * self.slot

    def middle(self, place: int) -> float:
        return self.frame.left + (place + 0.5) * self.slot

    @property
    def ceiling(self) -> float | None:
        return self.y(self.drawing.capacity) if self.drawing.capacity is not None else None

    @property
    def kill(self) -> float | None:
        """The line that "free" counts to: the limit where it lies below the capacity, else the ceiling itself."""
        return self.y(self.drawing.limit) if self.drawing.limit is not None else self.ceiling


def columns(drawing: Drawing, frame: Frame = WIDE) -> SafeString:
    """The wide drawing, from 680 px of container."""
    plot = _scaled(drawing, frame)
    pieces = _ground(plot)
    for place, column in enumerate(drawing.columns):
        pieces += _stack(plot, place, column)
    pieces += _ceiling(plot)
    for place, column in enumerate(drawing.columns):
        pieces += _figures(plot, place, column) if frame.labels else _sketch(plot, place, column)
    if frame.labels:
        pieces += _groups(plot)
    return picture("ph wide" if frame.labels else "ph", frame.height, pieces, spoken(drawing))


def _scaled(drawing: Drawing, frame: Frame) -> _Plot:
    """At least 1.13 × capacity and the highest band + 5 %, rounded up to a whole step of the axis.

    But the ceiling keeps about half of the height as long as the peaks allow, and never less than two fifths: beyond that,
    bands and columns are cut at the top edge, and their figures say how far they go.
    """
    need = 1.05 * (drawing.highest if frame.labels else drawing.tallest)
    if drawing.capacity:
        most = max(1.9 * drawing.capacity, min(1.15 * drawing.tallest, 2.4 * drawing.capacity))
        need = max(1.13 * drawing.capacity, min(need, most))
    power = 10 ** math.floor(math.log10(need / 6))
    step = next(power * factor for factor in (1, 2, 5, 10) if need / (power * factor) <= 8)
    return _Plot(drawing, frame, math.ceil(need / step) * step, step)


def _ground(plot: _Plot) -> list[str]:
    frame, drawing = plot.frame, plot.drawing
    pieces = []
    if plot.ceiling is not None:
        pieces.append(rect("over", frame.left, 100 - frame.left, frame.sky, plot.ceiling - frame.sky))
    if frame.labels:
        pieces += _axis(plot)
    shade_from = plot.ceiling if plot.ceiling is not None else frame.top
    pieces.append(rect("hi", frame.left + drawing.worst * plot.slot, plot.slot, shade_from, frame.height - shade_from))
    return [*pieces, line("base", frame.left, 100, frame.base, frame.base)]


def _axis(plot: _Plot) -> list[str]:
    pieces = []
    for tick in range(round(plot.top / plot.step) + 1):
        value, y = tick * plot.step, plot.y(tick * plot.step)
        if tick:
            pieces.append(line("grid", plot.frame.left, 100, y, y))
        if plot.ceiling is None or abs(y - plot.ceiling) > 9:
            number = f"{value / 10:,.10g}"
            pieces.append(text("ax", 0, y - 4, f"{number} GiB" if not tick else number, "start"))
    return pieces


def _stack(plot: _Plot, place: int, column: Column) -> list[str]:
    x, terms, labels, at = plot.left(place), [], [], 0
    torn = plot.frame.top + 20 if column.total > plot.top else 0  # down to where the break of a cut column goes
    for segment in column.segments:
        y, height = plot.y(at + segment.size), plot.y(at) - plot.y(at + segment.size)
        terms.append((segment.role, (x, plot.width, y, height)))
        if plot.frame.labels:
            seen = max(y, torn)
            labels += _label(plot, place, segment.role, segment.label, shown(segment.size), seen, y + height - seen)
        at += segment.size
    pieces = stacked(terms)
    pieces.append(rect("edge", x, plot.width, plot.y(at), plot.frame.base - plot.y(at)))
    if column.seen:
        top = plot.y(column.seen)
        free = min(plot.y(column.high), plot.y(at)) - top  # above the whisker
        pieces += ghost.upright(x, plot.width, top, plot.y(at) - top, free, over=bool(column.over))
    pieces += labels
    if column.over and plot.kill is not None and plot.y(at) < plot.kill:
        pieces.append(rect("burst", x, plot.width, plot.y(at), plot.kill - plot.y(at)))
    if at > plot.top:
        pieces += [
            line("brk", x - 0.6, x + plot.width + 0.6, plot.frame.top + by + 5, plot.frame.top + by) for by in (8, 14)
        ]
    return pieces


def _label(plot: _Plot, place: int, role: str, word: str, value: str, y: float, height: float) -> list[str]:
    """Name and value inside a term, if they fit the narrowest column: on two lines, on one, or one of them."""
    room, x = LETTERS * 8 / max(len(plot.drawing.columns), 7), plot.middle(place)
    y, height = _larger_part(plot.ceiling, y, height)
    if height < 14.5:
        return []
    if height >= 31 and max(len(word), len(value)) <= room:
        return [
            text(f"seg i-{role}", x, y + height / 2 - 2, word),
            text(f"seg i-{role}", x, y + height / 2 + 12, value),
        ]
    fitting = next((words for words in (f"{word} {value}", word, value) if len(words) <= room), None)
    return [text(f"seg i-{role}", x, y + height / 2 + 4.2, fitting)] if fitting else []


def _larger_part(ceiling: float | None, y: float, height: float) -> tuple[float, float]:
    """The part of a term above or below the ceiling, so that the thick line never runs through a label."""
    if ceiling is None or not y < ceiling < y + height:
        return y, height
    above = ceiling - y
    return (y, above - 2) if above > height / 2 else (ceiling + 2, height - above - 2)


def _ceiling(plot: _Plot) -> list[str]:
    drawing, frame, y = plot.drawing, plot.frame, plot.ceiling
    if y is None or drawing.capacity is None:
        return []
    pieces = [line("ceil", 0, 100, y, y)]
    words = f"{shown(drawing.capacity)} GiB: {drawing.ceiling}"
    if drawing.limit is not None and drawing.limit < drawing.capacity:
        pieces.append(line("kill", frame.left, 100, plot.y(drawing.limit), plot.y(drawing.limit)))
        words += f"; dashed: killed at {shown(drawing.limit)}"
    crowded = [_reach(plot, column, place) < y + 6 for place, column in enumerate(drawing.columns)]
    if not any(crowded[:4]):
        return [*pieces, text("ceilt halo ho", frame.left + 0.6, y - 8, words, "start")]
    if not any(crowded[-4:]):
        return [*pieces, text("ceilt halo ho", 99.6, y - 8, words, "end")]
    full = any(_reach(plot, column, place) < frame.sky for place, column in enumerate(drawing.columns[:4]))
    if full:  # above the drawing, where the caption's last line has ended
        return [*pieces, text("ceilt", 99.6, -1, words, "end")]
    return [*pieces, text("ceilt", frame.left + 0.6, frame.sky - 5, words, "start")]


def _base(plot: _Plot, column: Column, place: int) -> float:
    """Where the figures of a column stand on: its top, what was seen, or the end of a short whisker."""
    top = plot.y(max(column.total, column.need))
    return top if _tall(plot, column) else min(top, plot.y(column.high))


def _reach(plot: _Plot, column: Column, place: int) -> float:
    """How far up a column goes with its figures and its whisker."""
    return min(
        _base(plot, column, place) - (ABOVE if plot.frame.labels else 20),
        plot.y(column.high if plot.frame.labels else 0),
    )


def _tall(plot: _Plot, column: Column) -> bool:
    """Whether the whisker stands so far above its column that the figures go beside it, not on top."""
    return plot.y(column.total) - plot.y(column.high) > 12 and plot.frame.labels


def _figures(plot: _Plot, place: int, column: Column) -> list[str]:
    x, pieces = plot.middle(place), _whisker(plot, place, column)
    base, kill = _base(plot, column, place), plot.kill
    worst = place == plot.drawing.worst
    if kill is not None and not column.over and base > (plot.ceiling or kill) and base - ABOVE < kill + 8:
        if base > kill + 8:
            pieces.append(line("room", x, x, base - 3, kill + 4))
        base = (plot.ceiling or kill) - 1
    elif kill is not None and base - ABOVE > kill + 8:
        pieces.append(line("room", x, x, base - ABOVE + 2, kill + 6))
    ground = "ho" if plot.ceiling is not None and base - 20 < plot.ceiling else "hh" if worst else ""
    below = _left_over(column, short=plot.crowded and (not worst or bool(column.over)))
    bad = " bad" if column.over else ""
    at, anchor = (_beside(plot, place), "end") if _tall(plot, column) and not column.seen else (x, "middle")
    size = shown(max(column.need, column.total))
    pieces.append(text(f"big{bad} halo {ground}".strip(), at, base - (21.5 if below else 7.5), size, anchor))
    if below:
        pieces.append(text(f"{'bad ' if column.over else ''}halo {ground}".strip(), at, base - 7.5, below, anchor))
    return pieces + _name(plot, place, column)


def _beside(plot: _Plot, place: int) -> float:
    """Just left of a tall whisker."""
    return plot.left(place) + plot.width * 0.9 - 0.9


def _left_over(column: Column, *, short: bool = False) -> str:
    if short and not column.over:
        return ""
    if column.need < column.total:
        return f"{shown(column.need)} measured"
    if column.over and column.seen:
        return "seen"
    if column.over:
        return f"{'+' if short else 'over by '}{shown(column.over)}"
    return f"{shown(column.free)} free" if column.free is not None else ""


def _whisker(plot: _Plot, place: int, column: Column) -> list[str]:
    if not column.banded:
        return []
    x = plot.left(place) + plot.width * 0.9
    low, high = plot.y(column.low), plot.y(column.high)
    ends = [low] if column.high > plot.top else [high, low]
    return [
        line("whh", x, x, high, low),
        line("wh", x, x, high, low),
        *(line("wh", x - 0.7, x + 0.7, end, end) for end in ends),
    ]


def _name(plot: _Plot, place: int, column: Column) -> list[str]:
    cls = f"nm{' pk' if place == plot.drawing.worst else ''}{' tight' if plot.crowded else ''}"
    return [
        text(cls, plot.middle(place), plot.frame.base + 18 + 14 * row, word)
        for row, word in enumerate(column.title.split(" ", 1))
    ]


def _groups(plot: _Plot) -> list[str]:
    pieces, places = [], list(enumerate(plot.drawing.columns))
    for group, run in groupby(places, key=lambda pair: pair[1].group):
        members = [place for place, _ in run]
        x1, x2 = plot.frame.left + (members[0] + 0.08) * plot.slot, plot.frame.left + (members[-1] + 0.92) * plot.slot
        words = GROUP_WORDS[group] if len(members) > 1 or group != "step" else "each step"
        last = members[-1] == len(places) - 1 and len(members) == 1
        at, anchor = (x2, "end") if last else ((x1 + x2) / 2, "middle")
        pieces += [line("grpl", x1, x2, 354, 354), text("ax", at, 368, words, anchor)]
    return pieces


def _sketch(plot: _Plot, place: int, column: Column) -> list[str]:
    """The small drawing: dotted headroom, the worst phase's name and by how much it is over."""
    x, top, pieces = plot.middle(place), plot.y(column.total), []
    if plot.kill is not None and top > plot.kill + 14:
        pieces.append(line("room", x, x, top - 6, plot.kill + 6))
    if place == plot.drawing.worst:
        words = _left_over(column)
        if column.over and words:
            pieces.append(text("bad halo ho", x, top - 7, words))
        pieces.append(text("nm pk", x, plot.frame.base + 18, column.title.split(" ")[-1].lower()))
    elif column.phase in ("load", "rollout"):
        pieces.append(text("nm", x, plot.frame.base + 18, column.title.lower()))
    return pieces
