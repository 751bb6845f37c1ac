"""What every record has."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

from diagnose.vocabulary import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What every record has. ``slug`` is the file's name, ``body`` the Markdown below the front matter.

    ``chinese`` is the title in Chinese, of those that an answer in Chinese names.
    """

    slug: str
    body: str
    title: str
    reviewed: datetime.date
    sources: tuple[str, ...]
    chinese: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A text and what must be read from it; each is a test. ``absent`` facts must not be found."""

    says: str
    text: str
    facts: Mapping[str, Value] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    matches: bool = True
