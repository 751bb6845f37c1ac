"""What the page of results shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from django.http import QueryDict
from django.urls import reverse

from diagnose.knowledge import Knowledge
from kb.models import Document, Entry
from kb.search.find import Found, address, find
from kb.search.tokens import tokens_of

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

LONGEST = 300  # letters of a query; what is longer is a paste
KINDS = {
    "cases": ("Cases", "case"),
    "guides": ("Guides", "guide"),
    "levers": ("Levers", "lever"),
    "advisories": ("Advisories", "advisory"),
    "signatures": ("Errors", "error"),
    "frameworks": ("Frameworks", "framework"),
    "gpus": ("GPUs", "GPU"),
    "models": ("Models", "model"),
    "datasets": ("Data sets", "data set"),
    "logs": ("Log lines", "log line"),
    "notes": ("Notes", "note"),
}
_LOG = re.compile(r"Traceback \(most recent call last\)|Tried to allocate|\bFile \"[^\"]+\", line \d+|\n.*\n")


@dataclass(frozen=True)
class Hit:
    """One line of the results. ``by``: the name by which it was found, where its title does not tell it."""

    title: str
    href: str
    kind: str
    summary: str
    draft: bool
    by: str = ""


@dataclass(frozen=True)
class Choice:
    words: str
    count: int
    href: str
    on: bool


def is_log(query: str) -> bool:
    """Whether this is a paste and no query: long, of several lines, or in a traceback's words."""
    return len(query) > LONGEST or bool(_LOG.search(query))


def page(query: QueryDict, user: AbstractBaseUser | AnonymousUser, knowledge: Knowledge) -> dict[str, Any]:
    """What the template needs for ``q``, ``kind`` and ``page`` of the address."""
    words, kind = query.get("q", "").strip(), query.get("kind", "")
    kind = kind if kind in KINDS else ""
    asked = query.get("page", "1")
    number = int(asked) if asked.isdecimal() and len(asked) < 6 else 1
    found = find(words, user, knowledge, kind, number)
    return {
        "section": "search",
        "query": words,
        "found": found,
        "hits": hits(found.entries, found.by),
        "kinds": [
            Choice(plural, found.kinds[name], _href(words, "" if name == kind else name), name == kind)
            for name, (plural, _) in KINDS.items()
            if found.kinds.get(name)
        ],
        "previous_page": _href(words, kind, found.page - 1) if found.page > 1 else "",
        "next_page": _href(words, kind, found.page + 1) if found.page < found.pages else "",
        "total_words": total_words(found),
    }


def hits(entries: Iterable[Entry], by: Mapping[int, str] = MappingProxyType({})) -> list[Hit]:
    """Entries with their addresses and the word for their kind."""
    return [
        Hit(
            entry.title,
            address(entry),
            KINDS[entry.kind][1],
            entry.summary,
            draft=entry.document_id is not None and entry.document.state == Document.DRAFT,  # type: ignore[union-attr]
            by=_other_name(by.get(entry.pk, ""), entry),
        )
        for entry in entries
    ]


def _other_name(name: str, entry: Entry) -> str:
    """The name, unless the title or the address tells it."""
    told = set(tokens_of(f"{entry.title} {entry.slug}"))
    return "" if told.issuperset(tokens_of(name)) else name


def total_words(found: Found) -> str:
    """“12 pages”, “one page”, or “more than 1,000 pages”, which are not counted."""
    if found.more:
        return f"more than {found.total:,} pages"
    return "one page" if found.total == 1 else f"{found.total:,} pages"


def _href(words: str, kind: str, number: int = 1) -> str:
    query = QueryDict(mutable=True)
    query.update({"q": words, **({"kind": kind} if kind else {}), **({"page": str(number)} if number > 1 else {})})
    return f"{reverse('kb:search')}?{query.urlencode()}"
