"""The phase chart as bars, for containers below 680 px: the ceiling is one vertical line through all rows."""

from __future__ import annotations

from django.utils.html import escape
from django.utils.safestring import SafeString

from wizard.chart import ghost
from wizard.chart.data import Column, Drawing, shown, spoken
from wizard.chart.svg import line, pct, picture, px, rect, stacked, text

ROW, BAR, TOP = 47, 17, 20


def bars(drawing: Drawing) -> SafeString:
    """The narrow drawing from the same data."""
    scale = _scale(drawing)
    height = TOP + 12 + ROW * len(drawing.columns)
    ceiling = 100 * drawing.capacity / scale if drawing.capacity is not None else None
    pieces = [rect("over", ceiling, 100 - ceiling, TOP, height - TOP - 6)] if ceiling is not None else []
    if drawing.limit is not None and drawing.capacity is not None and drawing.limit < drawing.capacity:
        kill = 100 * drawing.limit / scale  # below the words, which stand before the ceiling and would be struck out
        pieces.append(line("kill", kill, kill, TOP, height - 6))
    for place, column in enumerate(drawing.columns):
        pieces += _row(drawing, column, place, scale, ceiling)
    if ceiling is not None and drawing.capacity is not None:
        pieces += _ceiling(drawing, ceiling, height)
    return picture("ph slim", height, pieces, spoken(drawing))


def _scale(drawing: Drawing) -> float:
    """Room for the words of a phase that is over at 360 px, else just above the highest thing. Beyond it, things are cut."""
    if not drawing.capacity:
        return 1.08 * drawing.highest
    over = any(column.over for column in drawing.columns)
    return (
        1.6 * drawing.capacity
        if over
        else min(1.6 * drawing.capacity, max(1.15 * drawing.capacity, 1.08 * drawing.highest))
    )


def _row(drawing: Drawing, column: Column, place: int, scale: float, ceiling: float | None) -> list[str]:
    top, at, pieces = TOP + 8 + ROW * place, 0, []
    worst, bar = place == drawing.worst, TOP + 25 + ROW * place
    if worst:
        pieces.append(rect("hi", 0, ceiling or 100, top - 1, ROW - 3))
    pieces.append(_words(column, top + 13, ceiling))  # first: its halo must not bite into the name
    pieces.append(text("nm pk" if worst else "nm", 0.4, top + 13, column.title.replace("Reference", "Ref."), "start"))
    terms = []
    for segment in column.segments:
        terms.append((segment.role, (_x(at, scale), _x(at + segment.size, scale) - _x(at, scale), bar, BAR)))
        at += segment.size
    pieces += stacked(terms)
    pieces.append(rect("edge", 0, _x(at, scale), bar, BAR))
    if column.seen:
        pieces += ghost.lying(_x(at, scale), _x(column.seen, scale), bar, BAR, over=bool(column.over))
    if column.over and drawing.limit is not None and at > drawing.limit:
        pieces.append(rect("burst", _x(drawing.limit, scale), _x(at, scale) - _x(drawing.limit, scale), bar, BAR))
    if at > scale:
        pieces += [line("brk", end - 1, end + 0.4, bar + BAR + 2, bar - 2) for end in (96, 98)]
    return pieces + _whisker(column, bar + BAR / 2, scale)


def _x(value: float, scale: float) -> float:
    """Per cent of the width; what goes on beyond the scale ends at the right edge."""
    return min(100.0, 100 * value / scale)


def _words(column: Column, y: float, ceiling: float | None) -> str:
    """Peak and headroom, right-aligned to the ceiling; a phase that is over has the whole width."""
    if column.over and column.seen:
        return text("bad halo ho", 100, y, f"{shown(column.seen)} seen, {shown(column.total)} explained", "end")
    if column.over:
        return text("bad halo ho", 100, y, f"{shown(column.total)}, over by {shown(column.over)}", "end")
    free = " measured" if column.need < column.total else ""
    free += f", {shown(column.free)} free" if column.free is not None else ""
    x = (ceiling or 100) - 1.2
    peak = f'<tspan class="strong">{shown(column.need)}</tspan>'
    return f'<text class="en halo" x="{pct(x)}" y="{px(y)}">{peak}{escape(free)}</text>'


def _whisker(column: Column, y: float, scale: float) -> list[str]:
    if not column.banded:
        return []
    low, high = _x(column.low, scale), _x(column.high, scale)
    ends = [low] if column.high > scale else [low, high]
    return [
        line("whh", low, high, y, y),
        line("wh", low, high, y, y),
        *(line("wh", end, end, y - 4.5, y + 4.5) for end in ends),
    ]


def _ceiling(drawing: Drawing, ceiling: float, height: int) -> list[str]:
    words = f"{shown(drawing.capacity or 0)} GiB: {drawing.ceiling}"
    return [
        line("ceil", ceiling, ceiling, TOP, height - 6),
        text("ceilt", min(ceiling, 100), 13, words, "end"),
    ]
