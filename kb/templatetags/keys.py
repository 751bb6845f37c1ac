"""Long keys that break where a reader would break them."""

from __future__ import annotations

import re

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

register = template.Library()
_BREAK = SafeString("<wbr>")


@register.filter
def breakable(key: str) -> SafeString:
    """A key that may break after each ``.`` and ``_``, and nowhere else."""
    return format_html_join(_BREAK, "{}", ((part,) for part in re.split(r"(?<=[._/])", key)))
