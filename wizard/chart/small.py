"""The relative of the phase chart: one bar before and one after a change."""

from __future__ import annotations

from django.utils.safestring import SafeString

from wizard.chart.svg import line, picture, rect


def before_after(
    size: int, limit: int | None, scale: int, *, after: bool, band: tuple[int, int] | None = None
) -> SafeString:
    """One bar of a pair that shares ``scale``; the part above ``limit`` is hatched. Any one unit for all of them."""
    cap = 100 * limit / scale if limit else None
    end = min(100, 100 * size / scale)
    inside = min(end, cap) if cap is not None else end
    pieces = [
        rect("track", 0, cap if cap is not None else 100, 1, 14),
        rect("now" if after else "was", 0, inside, 1, 14),
    ]
    if cap is not None and end > cap:
        pieces.append(rect("spill", cap, end - cap, 1, 14, "x-out"))
    if band and band[1] > band[0]:
        low, high = min(100, 100 * band[0] / scale), min(100, 100 * band[1] / scale)
        pieces += [line("wh", low, high, 8, 8), line("wh", low, low, 4, 12), line("wh", high, high, 4, 12)]
    if cap is not None:
        pieces.append(line("cap", cap, cap, -1, 17))
    return picture("ba-svg", 16, pieces)
