"""Record bodies as sections, rendered once a process: the catalogue's files do not change while it runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from django.utils.safestring import SafeString
from django.utils.text import slugify

from kb.markdown import render

_ISSUE = re.compile(r"https?://[^/]+/[^/]+/([^/]+)/(?:issues|pull|discussions)/(\d+)")


@dataclass(frozen=True)
class Section:
    """One part of a body below its ``##`` heading; the part before the first heading has no title."""

    anchor: str
    title: str
    html: SafeString


@lru_cache(maxsize=2048)
def sections(body: str) -> tuple[Section, ...]:
    """The parts of a record's body, in order."""
    parts = re.split(r"^## +(.+?)[ \t]*$", body, flags=re.M)
    found = [Section("about", "", render(parts[0]))] if parts[0].strip() else []
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        found.append(Section(slugify(title), title, render(text)))
    return tuple(found)


def source_name(address: str) -> str:
    """``repository#8`` for an issue; else the address without its scheme."""
    found = _ISSUE.match(address)
    return f"{found[1]}#{found[2]}" if found else re.sub(r"^https?://(www\.)?", "", address).rstrip("/")


def thread_name(sources: tuple[str, ...]) -> str:
    """The name of the first source that is an issue, or nothing."""
    return next((source_name(address) for address in sources if _ISSUE.match(address)), "")


def first_sentence(body: str) -> str:
    """Of the first paragraph, as plain text without its full stop: what a list shows."""
    for part in re.split(r"\n\s*\n", body):
        text = " ".join(line.strip() for line in part.splitlines() if not line.startswith(("#", "|", "```", "-")))
        if text:
            return text.split(". ")[0].strip().rstrip(".").replace("`", "")[:300]
    return ""
