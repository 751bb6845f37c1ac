"""The few SVG pieces that the charts are made of: x and widths in per cent, y and heights in px."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from wizard.chart.data import TEXTURE


def pct(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") + "%"


def px(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def rect(cls: str, x: float, width: float, y: float, height: float, fill: str = "") -> str:
    paint = f' fill="url(#{fill})"' if fill else ""
    named = f'class="{cls}" ' if cls else ""
    return f'<rect {named}x="{pct(x)}" width="{pct(max(width, 0))}" y="{px(y)}" height="{px(max(height, 0))}"{paint}/>'


def line(cls: str, x1: float, x2: float, y1: float, y2: float) -> str:
    return f'<line class="{cls}" x1="{pct(x1)}" x2="{pct(x2)}" y1="{px(y1)}" y2="{px(y2)}"/>'


def text(cls: str, x: float, y: float, words: str, anchor: str = "middle") -> str:
    aligned = {"start": " st", "end": " en"}.get(anchor, "")
    return f'<text class="{cls}{aligned}" x="{pct(x)}" y="{px(y)}">{escape(words)}</text>'


Box = tuple[float, float, float, float]


def stacked(terms: Iterable[tuple[str, Box]]) -> list[str]:
    """The rectangles of a column's terms (x, width, y, height), and on top one texture for neighbours of the same family."""
    pieces: list[str] = []
    textures: list[tuple[str, Box]] = []
    for role, (x, width, y, height) in terms:
        pieces.append(rect(f"gap f-{role}", x, width, y, height))
        name = TEXTURE.get(role, "")
        if textures and textures[-1][0] == name:
            left, wide, top, high = textures.pop()[1]
            right, below = max(left + wide, x + width), max(top + high, y + height)
            x, y = min(left, x), min(top, y)
            width, height = right - x, below - y
        textures.append((name, (x, width, y, height)))
    return pieces + [rect("", *box, f"x-{name}") for name, box in textures if name]


def picture(cls: str, height: int, pieces: Iterable[str], label: str = "") -> SafeString:
    """An SVG of full width without a viewBox, so that letters never scale; without a label it is hidden from readers.

    The one place of the charts that vouches for its markup: the pieces above escape every word that they take.
    """
    spoken = f'role="img" aria-label="{escape(label)}"' if label else 'aria-hidden="true"'
    return mark_safe(f'<svg class="{cls}" height="{height}" {spoken}>{"".join(pieces)}</svg>')
