"""What every record has."""

from __future__ import annotations

import datetime
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What every record has. ``slug`` is the file's name, ``body`` the Markdown below the front matter."""

    slug: str
    body: str
    title: str
    reviewed: datetime.date
    sources: tuple[str, ...]
