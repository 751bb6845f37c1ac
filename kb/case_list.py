"""The list of cases with its facets. The number of queries does not depend on the number of cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Prefetch
from django.http import QueryDict
from django.urls import reverse

from diagnose.knowledge import Knowledge
from diagnose.vocabulary import KINDS, PHASES
from kb.evidence import Mark, marks
from kb.mini import Mini, mini
from kb.models import CaseEstimate, Document, DocumentQuerySet
from kb.tags import case_tags

PAGE = 25
NOT_TOLD = "none"  # in the address, for cases that do not tell
FIELDS = {"kind": "oom_kind", "framework": "framework", "phase": "phase"}
TITLES = {"kind": "Kind", "framework": "Framework", "phase": "Phase"}


@dataclass(frozen=True)
class Choice:
    """One line of a facet; ``share`` is its bar in per cent of the longest."""

    words: str
    count: int
    href: str
    on: bool
    told: bool
    share: int


@dataclass(frozen=True)
class Facet:
    title: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Row:
    """One case of the list."""

    case: Document
    tags: tuple[str, ...]
    marks: tuple[Mark, ...]
    picture: Mini | None


def listing(rows: DocumentQuerySet, query: QueryDict, knowledge: Knowledge) -> dict[str, Any]:
    """What the list's template needs, for the rows that the viewer may see."""
    chosen = {name: str(query[name]) for name in FIELDS if query.get(name)}
    words = {"kind": KINDS, "phase": PHASES, "framework": {f.slug: f.title for f in knowledge.frameworks.values()}}
    found = _narrow(rows, chosen).prefetch_related(
        Prefetch("estimates", CaseEstimate.objects.filter(moment=CaseEstimate.AS_IT_FAILED))
    )
    page = Paginator(found.defer("text", "html"), PAGE).get_page(query.get("page"))
    return {
        "section": "cases",
        "facets": [_facet(name, rows, chosen, words[name]) for name in FIELDS],
        "tags": [
            (TITLES[name], _words(words[name], value), _href(chosen, drop=name)) for name, value in chosen.items()
        ],
        "rows": [_row(case, words["framework"]) for case in page],
        "page": page,
        "previous_page": _turned(chosen, page, -1),
        "next_page": _turned(chosen, page, 1),
        "all_cases": _href({}),
    }


def _narrow(rows: DocumentQuerySet, chosen: Mapping[str, str]) -> DocumentQuerySet:
    return rows.filter(**{FIELDS[name]: "" if value == NOT_TOLD else value for name, value in chosen.items()})


def _facet(name: str, rows: DocumentQuerySet, chosen: Mapping[str, str], words: Mapping[str, str]) -> Facet:
    """The values of one field with their counts among the cases that the other choices leave."""
    others = {key: value for key, value in chosen.items() if key != name}
    counts = _narrow(rows, others).counts_by(FIELDS[name])
    longest = max(counts.values(), default=1)
    choices = []
    for value, count in sorted(counts.items(), key=lambda pair: (not pair[0], -pair[1], pair[0])):
        key = value or NOT_TOLD
        on = chosen.get(name) == key
        href = _href(chosen, drop=name) if on else _href({**chosen, name: key})
        choices.append(Choice(_words(words, key), count, href, on, bool(value), max(1, 100 * count // longest)))
    return Facet(TITLES[name], tuple(choices))


def _words(words: Mapping[str, str], value: str) -> str:
    return "not told" if value == NOT_TOLD else words.get(value, value)


def _href(chosen: Mapping[str, str], drop: str = "", page: int = 1) -> str:
    query = QueryDict(mutable=True)
    query.update({name: value for name, value in chosen.items() if name != drop})
    if page > 1:
        query["page"] = str(page)
    return reverse("kb:cases") + (f"?{query.urlencode()}" if query else "")


def _turned(chosen: Mapping[str, str], page: Page[Document], by: int) -> str:
    if not (page.has_next() if by > 0 else page.has_previous()):
        return ""
    return _href(chosen, page=page.number + by)


def _row(case: Document, frameworks: Mapping[str, str]) -> Row:
    estimate = next(iter(case.estimates.all()), None)
    return Row(
        case=case,
        tags=case_tags(case.thread or frameworks.get(case.framework, case.framework), case.facts, case.solved),
        marks=marks(case.worked, case.failed, case.suggested),
        picture=mini(estimate.result, case.oom_kind) if estimate and estimate.status == "done" else None,
    )
