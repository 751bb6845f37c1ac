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


def filled(role: str, x: float, width: float, y: float, height: float) -> list[str]:
    """A term's rectangle, with the texture of its family on top."""
    pieces = [rect(f"gap f-{role}", x, width, y, height)]
    if role in TEXTURE:
        pieces.append(rect("", x, width, y, height, f"x-{TEXTURE[role]}"))
    return pieces


def picture(cls: str, height: int, pieces: Iterable[str], label: str = "") -> SafeString:
    """An SVG of full width without a viewBox, so that letters never scale; without a label it is hidden from readers.

    The one place of the charts that vouches for its markup: the pieces above escape every word that they take.
    """
    spoken = f'role="img" aria-label="{escape(label)}"' if label else 'aria-hidden="true"'
    return mark_safe(f'<svg class="{cls}" height="{height}" {spoken}>{"".join(pieces)}</svg>')
