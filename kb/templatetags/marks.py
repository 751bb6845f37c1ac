"""The marks of evidence as a page holds them; a page of advice shows the same few counts a score of times."""

from __future__ import annotations

from functools import lru_cache

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from kb.evidence import Mark

register = template.Library()


@register.filter
@lru_cache(maxsize=1024)
def drawn(marks: tuple[Mark, ...]) -> SafeString:
    return format_html_join("", "<span>{}{}</span>", ((_symbols(mark), mark.words) for mark in marks))


def _symbols(mark: Mark) -> SafeString | str:
    if not mark.drawn:
        return ""
    symbols = format_html_join("", '<svg><use href="#p-{}"/></svg>', ((mark.symbol,) for _ in mark.drawn))
    return format_html('<span class="{}" aria-hidden="true">{}</span> ', mark.symbol, symbols)
