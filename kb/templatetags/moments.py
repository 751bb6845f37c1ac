"""Hours as pages and mails show them: always with the zone that they are of, since editors sit in several."""

from __future__ import annotations

from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.dateformat import format
from django.utils.timesince import timesince

register = template.Library()


@register.filter
def moment(value: datetime | None, shape: str = "j F Y, H:i") -> str:
    """In the zone of the site: “23 November 2026, 01:30 UTC+8”."""
    if value is None:
        return ""
    local = timezone.localtime(value)
    return f"{format(local, shape)} {zone(local)}"


@register.filter
def ago(value: datetime) -> str:
    """How long since: “3 minutes ago”."""
    return f"{timesince(value)} ago" if timezone.now() - value >= timedelta(minutes=1) else "a moment ago"


def zone(local: datetime) -> str:
    """By its distance from UTC: names such as CST mean several, and summer time changes them twice a year."""
    minutes = round((local.utcoffset() or local - local).total_seconds() / 60)
    hours, rest = divmod(abs(minutes), 60)
    if not minutes:
        return "UTC"
    return f"UTC{'+' if minutes > 0 else '-'}{hours}{f':{rest:02}' if rest else ''}"
