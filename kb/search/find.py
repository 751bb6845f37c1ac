"""A query → the pages that have its words, best first, the same on both databases.

Ranking every hit of a common word over 100,000 pages costs 150 ms on PostgreSQL and 50 ms on SQLite, the newest 1,000 of them a few.
So pages come in three tiers (every word in the title; every word as it was typed; the parts of every word), newest first within each,
and no tier is read beyond ``LIMIT`` pages.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from django.urls import reverse

from kb.models import Document, Entry
from kb.notes import PAGES
from kb.search.names import names, nearest
from kb.search.tokens import TITLE, Word, needs, query_words

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

    from diagnose.knowledge import Knowledge
    from kb.models.search import EntryQuerySet

LIMIT = 1000
PAGE = 20
SUGGESTED = 8
_PAGES = {**PAGES, "cases": "case", "guides": "guide"}
_NEEDS = tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Found:
    """Entries of one page of results. ``total`` counts at most ``LIMIT``, ``more`` says that there are more.

    ``kinds`` counts the results of each kind; ``read_as`` is the query that was searched in place of the one that found nothing.
    """

    entries: tuple[Entry, ...]
    total: int
    more: bool
    kinds: dict[str, int]
    page: int
    pages: int
    read_as: str = ""


def find(
    query: str, user: AbstractBaseUser | AnonymousUser | None, knowledge: Knowledge, kind: str = "", page: int = 1
) -> Found:
    """The pages that have every word of ``query``, among those that ``user`` may see; five queries at most.

    Where nothing has them, names that are misspelt are read as the nearest name of the catalogue.
    """
    words = query_words(query)
    hits = _hits(words, user)
    read_as = ""
    if not hits and words:
        known = names(knowledge)
        corrected = tuple(_corrected(word, known) for word in words)
        if corrected != words:
            hits = _hits(corrected, user)
            read_as = " ".join(word.written for word in corrected) if hits else ""
    kinds = Counter(hits.values())
    chosen = [pk for pk, its_kind in hits.items() if not kind or its_kind == kind]
    pages = max(1, -(-len(chosen) // PAGE))
    page = min(max(page, 1), pages)
    shown = chosen[(page - 1) * PAGE : page * PAGE]
    rows = Entry.objects.select_related("document").defer("words", "document__text", "document__html").in_bulk(shown)
    entries = tuple(rows[pk] for pk in shown if pk in rows)
    return Found(entries, len(chosen), len(hits) >= LIMIT, dict(kinds), page, pages, read_as)


def suggest(query: str, user: AbstractBaseUser | AnonymousUser | None) -> list[Entry]:
    """Pages whose title has words that begin like these. One query."""
    begun = tuple((TITLE + token, True) for word in query_words(query) for token in word.tokens)
    if not begun:
        return []
    rows = _known(user).having(begun).order_by("-pk")
    return list(rows.only("kind", "slug", "title")[:SUGGESTED])


def address(entry: Entry) -> str:
    """Where the page of an entry is; a note stands on the page that it is about."""
    kind, slug = entry.kind, entry.slug
    if kind == "notes":
        kind, _, slug = slug.partition("/")
    return reverse(f"kb:{_PAGES[kind]}", args=[slug])


def _hits(words: tuple[Word, ...], user: AbstractBaseUser | AnonymousUser | None) -> dict[int, str]:
    """Id → kind, best first."""
    if not words:
        return {}
    hits: dict[int, str] = {}
    for tier in dict.fromkeys((_in_title(words), _as_typed(words), needs(words))):
        rows = _known(user).having(tier).order_by("-pk").values_list("pk", "kind")
        if len(hits) < LIMIT:
            for pk, kind in rows[:LIMIT]:
                hits.setdefault(pk, kind)
    return dict(list(hits.items())[:LIMIT])


def _known(user: AbstractBaseUser | AnonymousUser | None) -> EntryQuerySet:
    """Without the kinds that only a newer version has pages for: it puts them in while this one still serves."""
    return Entry.objects.visible_to(user).filter(kind__in=[*_PAGES, Document.NOTES])


def _in_title(words: tuple[Word, ...]) -> _NEEDS:
    return tuple((TITLE + token, open) for token, open in needs(words))


def _as_typed(words: tuple[Word, ...]) -> _NEEDS:
    return tuple(need for word in words for need in ([(word.whole, word.open)] if word.whole else needs((word,))))


def _corrected(word: Word, known: frozenset[str]) -> Word:
    """The word read as the nearest name, as a whole or, where that is near to none, in each of its parts."""
    if not word.whole:
        return word
    parts = [nearest(token, known) or token for token in word.tokens]
    name = nearest(word.whole, known) or (word.whole if parts == list(word.tokens) else "-".join(parts))
    return replace(query_words(name, open_end=False)[0], open=word.open)
