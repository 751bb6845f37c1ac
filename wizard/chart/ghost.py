"""Seen but not explained: a dashed, hatched frame from the estimate up to what was reported. It is drawn in ink below the
ceiling and in the colour of what is over where it stands above it; no term is ever stretched to meet it.
"""

from __future__ import annotations

from wizard.chart.svg import rect, text

ROOM = 34  # px that its two words need


def upright(x: float, width: float, top: float, height: float, free: float, *, over: bool) -> list[str]:
    """On a column: ``top`` and ``height`` in px, ``free`` the px of it that no whisker crosses."""
    pieces = _frame(x, width, top, height, over=over)
    if free >= ROOM:
        middle = x + width / 2
        pieces.append(text("halo", middle, top + free / 2 - 2, "not"))
        pieces.append(text("halo", middle, top + free / 2 + 12, "explained"))
    return pieces


def lying(start: float, end: float, top: float, height: float, *, over: bool) -> list[str]:
    """On a bar: ``start`` and ``end`` in per cent."""
    return _frame(start, end - start, top, height, over=over)


def _frame(x: float, width: float, top: float, height: float, *, over: bool) -> list[str]:
    return [
        rect("", x, width, top, height, "x-out" if over else "x-seen"),
        rect("ghost" if over else "ghost within", x, width, top, height),
    ]
