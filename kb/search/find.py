"""A query → the pages that it means, best first, the same on both databases.

First come the messages that the query holds, read as the wizard reads them, and the pages of the catalogue that it names; then documents
with every word in the title, then whatever has every word. Ranking every hit of a common word over 100,000 documents costs 150 ms on
PostgreSQL and 50 ms on SQLite, the newest 1,000 of them a few. So documents come in tiers (every word in the title; every word as it was
typed; the parts of every word), newest first within each, and no tier is read beyond ``LIMIT``. The catalogue is small and ranked whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from django.db.models import Case, Q, When
from django.urls import reverse

from diagnose.facts.failing.signature import find_hits, is_mark
from diagnose.facts.sentences.lowered import lower
from diagnose.ingest import read
from kb.models import Document, Entry
from kb.notes import PAGES
from kb.search.names import Named, Names, Page, met, nearest, of
from kb.search.query import clauses, read_query, strong
from kb.search.tokens import TITLE, Clause, Word

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

    from diagnose.knowledge import Knowledge
    from kb.models.search import EntryQuerySet

    User = AbstractBaseUser | AnonymousUser | None

LIMIT = 1000
PAGE = 20
SUGGESTED = 8
CLEAR = 0.5  # a page whose name is so much of the query, or the query so much of its name, is meant
MOST_WORDS = 8  # of which some may be missing; of a longer query the first are taken
_PAGES = {**PAGES, "cases": "case", "guides": "guide"}
Hits = dict[int, Page]


@dataclass(frozen=True)
class Found:
    """Entries of one page of results. ``total`` counts at most ``LIMIT``, ``more`` says that there are more.

    ``kinds`` counts the results of each kind; ``read_as`` is the query that was searched in place of the one that found nothing;
    ``some`` says that no page has all of the words; ``by`` tells of an entry the name by which it was found.
    """

    entries: tuple[Entry, ...]
    total: int
    more: bool
    kinds: dict[str, int]
    page: int
    pages: int
    read_as: str = ""
    some: bool = False
    by: dict[int, str] = field(default_factory=dict)


def find(query: str, user: User, knowledge: Knowledge, kind: str = "", page: int = 1) -> Found:
    """The pages that ``query`` means, among those that ``user`` may see; six queries at most.

    Where nothing has every word, misspelt names are read as the nearest of the catalogue, and pages with most of the words are taken.
    """
    words, names = read_query(query), of(knowledge)
    named = names.named(words)
    hits, whole = _hits(words, user, _said(query, words, knowledge), named, names)
    read_as, some = "", False
    if words and not whole:
        corrected = read_query(" ".join(_corrected(word, names) for word in words))
        most, some = _most(corrected, user, names)
        if most and _written(corrected) != _written(words):
            read_as, named = _written(corrected), names.named(corrected)
            hits = {pk: page for pk, page in most.items() if page in named and named[page].score >= CLEAR} | hits
        hits |= _new(most, hits)
    kinds = Counter(page[0] for page in hits.values())
    chosen = [pk for pk, its in hits.items() if not kind or its[0] == kind]
    pages = max(1, -(-len(chosen) // PAGE))
    page = min(max(page, 1), pages)
    shown = chosen[(page - 1) * PAGE : page * PAGE]
    rows = Entry.objects.select_related("document").defer("words", "document__text", "document__html").in_bulk(shown)
    entries = tuple(rows[pk] for pk in shown if pk in rows)
    by = {entry.pk: named[its].name for entry in entries if (its := (entry.kind, entry.slug)) in named}
    return Found(entries, len(chosen), len(hits) >= LIMIT, dict(kinds), page, pages, read_as, some, by)


def suggest(query: str, user: User, knowledge: Knowledge) -> list[Entry]:
    """Pages of the catalogue with names, then documents with titles, that have words which begin like these. Two queries."""
    words = read_query(query)
    if not words:
        return []
    named = of(knowledge).named(words)
    best = sorted(named, key=lambda page: (-named[page].score, of(knowledge).order[page]))[:SUGGESTED]
    visible = _known(user).only("kind", "slug", "title")
    rows = {(row.kind, row.slug): row for row in visible.filter(document=None).filter(_are(best))} if best else {}
    found = [rows[page] for page in best if page in rows]
    if len(found) < SUGGESTED:
        begun = tuple(((((TITLE + token), True),),) for word in words for token in word.tokens)
        found += visible.exclude(document=None).having(begun).order_by("-pk")[: SUGGESTED - len(found)]
    return found


def address(entry: Entry) -> str:
    """Where the page of an entry is; a note stands on the page that it is about."""
    kind, slug = entry.kind, entry.slug
    if kind == "notes":
        kind, _, slug = slug.partition("/")
    return reverse(f"kb:{_PAGES[kind]}", args=[slug])


def _said(query: str, words: tuple[Word, ...], knowledge: Knowledge) -> dict[Page, int]:
    """The messages that the query holds, with their strength; those in people’s words where they surely tell a failure or a phase."""
    if not words:
        return {}
    paste = read(query)
    hits = find_hits(paste, lower(paste), knowledge)[0]
    told = (hit.signature for hit in hits)
    return {
        ("signatures", one.slug): one.strength
        for one in sorted(told, key=lambda one: (-one.strength, one.kind == "other"))
        if one.strength > 1
        or (one.kind != "other" and not one.presumed)
        or is_mark(one)
        or one.phase
        or all(word.weak or word.empty for word in words)
    }


def _hits(
    words: tuple[Word, ...], user: User, said: dict[Page, int], named: dict[Page, Named], names: Names
) -> tuple[Hits, bool]:
    """Id → page, best first, and whether some page has every word."""
    if not words:
        return {}, False
    needed = clauses(strong(words))
    catalogue, full = _of_catalogue(user, needed, [*said, *named])
    ranked = sorted(
        catalogue, key=lambda page: (-named[page].score if page in named else 0.0, names.order.get(page, 0))
    )
    clear = [page for page in ranked if page in named and named[page].score >= CLEAR]
    exact = [page for page in clear if named[page].score == 1]
    first = (*(page for page, strength in said.items() if strength > 1), *exact, *said, *clear)
    hits: Hits = {catalogue[page]: page for page in first if page in catalogue}
    documents = _documents(user, _titled(needed))
    hits |= _new(documents, hits)
    hits |= _new({catalogue[page]: page for page in ranked}, hits)
    if len(documents) < LIMIT:
        documents = _documents(user, needed)
        if (typed := _as_typed(strong(words))) != needed and len(documents) > 1:
            hits |= _new(_documents(user, typed), hits)
        hits |= _new(documents, hits)
    return dict(list(hits.items())[:LIMIT]), full or bool(documents)


def _known(user: User) -> EntryQuerySet:
    """Without the kinds that only a newer version has pages for: it puts them in while this one still serves."""
    return Entry.objects.visible_to(user).filter(kind__in=[*_PAGES, Document.NOTES])


def _new(found: Hits, hits: Hits) -> Hits:
    return {pk: page for pk, page in found.items() if pk not in hits}


def _of_catalogue(user: User, needed: tuple[Clause, ...], pages: list[Page]) -> tuple[dict[Page, int], bool]:
    """The pages of the catalogue that have what is needed, and these; whether any has it."""
    rows = _known(user).filter(document=None).with_has(needed).filter(Q(has=True) | _are(pages))
    told = list(rows.order_by().values_list("pk", "kind", "slug", "has"))  # type: ignore[misc]
    return {(kind, slug): pk for pk, kind, slug, _ in told}, any(has for *_, has in told)


def _are(pages: Iterable[Page]) -> Q:
    kinds: dict[str, list[str]] = {}
    for kind, slug in pages:
        kinds.setdefault(kind, []).append(slug)
    chosen = Q(pk__in=[])
    for kind, slugs in kinds.items():
        chosen |= Q(kind=kind, slug__in=slugs)
    return chosen


def _documents(user: User, needed: tuple[Clause, ...]) -> Hits:
    """Documents that have what is needed, the newest first."""
    rows = Entry.objects.visible_to(user).exclude(document=None).having(needed).order_by("-pk")
    return {pk: (kind, slug) for pk, kind, slug in rows.values_list("pk", "kind", "slug")[:LIMIT]}


def _most(words: tuple[Word, ...], user: User, names: Names) -> tuple[Hits, bool]:
    """Pages with most of the words, those with the most first; where there are none, with any. And whether none has all."""
    needed = clauses(strong(words))[:MOST_WORDS]
    least = max(1, len(needed) - 1 - len(needed) // 4)
    found = _having_some(user, needed, least) or (_having_some(user, needed, 1) if least > 1 else {})
    score = {pk: (-count, -names.share(page, needed)) for pk, (page, count) in found.items()}
    best = sorted(found, key=lambda pk: (*score[pk], names.order.get(found[pk][0], len(names.order)), -pk))
    return {pk: found[pk][0] for pk in best}, all(count < len(needed) for _, count in found.values())


def _having_some(user: User, needed: tuple[Clause, ...], least: int) -> dict[int, tuple[Page, int]]:
    """Pages that meet so many of these clauses, the catalogue's first, then the newest; with how many each meets."""
    rows = _known(user).having_any(tuple(combinations(needed, least)))
    rows = rows.order_by(Case(When(document=None, then=0), default=1), "-pk")[: LIMIT // 4]
    found = {}
    for pk, kind, slug, tokens in rows.values_list("pk", "kind", "slug", "words"):
        has = frozenset(tokens.split(" "))
        found[pk] = (kind, slug), sum(met(clause, has) for clause in needed)
    return found


def _titled(needed: tuple[Clause, ...]) -> tuple[Clause, ...]:
    return tuple(tuple(tuple((TITLE + token, begins) for token, begins in way) for way in clause) for clause in needed)


def _as_typed(words: tuple[Word, ...]) -> tuple[Clause, ...]:
    """Each word in one token, where it is one."""
    whole = (
        ((((word.whole, word.open),), *ways[1:]) if word.whole else ways)
        for word, ways in zip(words, clauses(words), strict=True)
    )
    return tuple(whole)


def _corrected(word: Word, names: Names) -> str:
    """The word read as the nearest name, as a whole or, where that is near to none, in each of its parts."""
    if not word.whole or word.same or word.weak or word.empty:
        return word.written
    parts = [nearest(token, names.counts) or token for token in word.tokens]
    return nearest(word.whole, names.counts) or (word.written if parts == list(word.tokens) else "-".join(parts))


def _written(words: tuple[Word, ...]) -> str:
    return " ".join(word.written for word in words).lower()
