"""A QR code as the data of one SVG path: the policy allows no picture from elsewhere and no ``data:``, the template draws it."""

from __future__ import annotations

from typing import NamedTuple

import qrcode
from django import template

register = template.Library()


class Picture(NamedTuple):
    """``side`` in modules, the quiet border included; ``path`` draws the dark ones."""

    side: int
    path: str


@register.simple_tag
def qr(text: str) -> Picture:
    """The QR code of a text."""
    code = qrcode.QRCode(border=4)
    code.add_data(text)
    rows = code.get_matrix()
    dark = [f"M{x} {y}h1v1h-1z" for y, row in enumerate(rows) for x, module in enumerate(row) if module]
    return Picture(len(rows), "".join(dark))
