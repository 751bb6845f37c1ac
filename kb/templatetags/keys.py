"""Long keys that break where a reader would break them, figures that do not break, and times that a reader can grasp."""

from __future__ import annotations

import re

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

register = template.Library()
_BREAK = SafeString("<wbr>")
_WITHIN_A_KEY = re.compile(r"(?<=[._/])(?=[^\W\d_])")
_WITHIN_A_FIGURE = re.compile(r"(?<=\d) (?=[KMGT]i?B\b|→)|(?<=→) (?=\d)", re.A)


@register.filter
def breakable(key: str) -> SafeString:
    """A key that may break after each ``.``, ``_`` and ``/`` before a letter, and nowhere else: no figure breaks at its point."""
    return format_html_join(_BREAK, "{}", ((part,) for part in _WITHIN_A_KEY.split(key)))


@register.filter
def unbroken(words: str) -> str:
    """A sentence whose figures stay with their units, and what they were with what they become."""
    return _WITHIN_A_FIGURE.sub("\u00a0", words)


@register.filter
def as_time(seconds: float) -> str:
    """Seconds up to two minutes, minutes up to two hours, then hours; each with its unit."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}\u00a0{unit}"
    return f"{seconds:.1f}\u00a0s" if seconds < 10 else f"{seconds:.0f}\u00a0s"
