"""The list of cases with its facets. The number of queries does not depend on the number of cases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, Prefetch, Value
from django.http import HttpRequest, QueryDict
from django.urls import reverse

from diagnose.knowledge import Knowledge
from diagnose.vocabulary import KINDS, PHASES
from kb import data
from kb.evidence import Mark, marks
from kb.facets import OUTCOMES, SIZES, trainers
from kb.mini import Mini, mini
from kb.models import CaseEstimate, Document, DocumentQuerySet, edition
from kb.tags import case_tags

PAGE = 25
NOT_TOLD = "none"  # in the address, for cases that do not tell
FIELDS = {
    "kind": "oom_kind",
    "framework": "framework",
    "phase": "phase",
    "gpu": "gpu_model",
    "size": "model_size",
    "outcome": "outcome",
    "review": "review_state",
}
TITLES = {
    "kind": "Kind",
    "framework": "Framework",
    "phase": "Phase",
    "gpu": "GPU",
    "size": "Model size",
    "outcome": "Outcome",
    "review": "Review",
}
_COUNTS_KEPT = 64
_QUALIFIER = re.compile(rf"(?:^|\s)({'|'.join(FIELDS)}):(\S+)")
_counts: dict[tuple[object, ...], dict[str, dict[str, int]]] = {}


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


@dataclass(frozen=True)
class Asked:
    """What the address asks for: words, and a value for each facet that is chosen."""

    words: str
    chosen: Mapping[str, str]
    page: str

    def href(self, drop: str = "", add: tuple[str, str] | None = None, page: int = 1) -> str:
        """The address of the list with one filter fewer, or one more."""
        query = QueryDict(mutable=True)
        filters = {name: value for name, value in (*self.chosen.items(), *([add] if add else [])) if name != drop}
        query.update({**({"q": self.words} if self.words and drop != "q" else {}), **filters})
        if page > 1:
            query["page"] = str(page)
        return reverse("kb:cases") + (f"?{query.urlencode()}" if query else "")


def asked(query: QueryDict) -> Asked:
    """The words of the search box may name facets too: ``kind:host_ram 显存``."""
    box = query.get("q", "")
    named = dict(_QUALIFIER.findall(box))
    given = {name: str(query[name]) for name in FIELDS if query.get(name)}
    return Asked(_QUALIFIER.sub(" ", box).strip(), {**named, **given}, query.get("page", "1"))


def listing(rows: DocumentQuerySet, query: QueryDict, knowledge: Knowledge) -> dict[str, Any]:
    """What the list's template needs, for the rows that the viewer may see."""
    wanted = asked(query)
    page = _page(rows, wanted)
    names = trainers(knowledge)
    words = {name: _value_words(name, knowledge) for name in FIELDS}
    tags = [(name, TITLES[name], _words(words[name], value)) for name, value in wanted.chosen.items()]
    tags = [*([("q", "Words", wanted.words)] if wanted.words else []), *tags]
    return {
        "section": "cases",
        "query": wanted.words,
        "chosen": wanted.chosen,
        "facets": _facets(rows, wanted, knowledge),
        "tags": [(title, words, wanted.href(drop=name)) for name, title, words in tags],
        "ways_out": []
        if page
        else [(title, words, wanted.href(drop=name), _without(rows, wanted, name)) for name, title, words in tags],
        "rows": [_row(case, names) for case in page],
        "page": page,
        "previous_page": wanted.href(page=page.number - 1) if page.has_previous() else "",
        "next_page": wanted.href(page=page.number + 1) if page.has_next() else "",
        "all_cases": reverse("kb:cases"),
    }


def as_data(rows: DocumentQuerySet, request: HttpRequest, knowledge: Knowledge) -> dict[str, Any]:
    """The same list for programs: the cases of one page, the facets with the address that toggles each value."""
    wanted = asked(request.GET)
    page = _page(rows, wanted)
    to_data = {reverse("kb:cases"): reverse("kb:data_list", args=[Document.CASES])}

    def absolute(href: str) -> str:
        path, mark, query = href.partition("?")
        return request.build_absolute_uri(to_data.get(path, path) + mark + query)

    facets = {
        facet.title: [
            {"words": choice.words, "count": choice.count, "on": choice.on, "toggle_url": absolute(choice.href)}
            for choice in facet.choices
        ]
        for facet in _facets(rows, wanted, knowledge)
    }
    return {
        "schema_version": data.SCHEMA,
        "type": Document.CASES,
        "total": page.paginator.count,
        "items": [{**data.line(Document.CASES, case.slug, case.title, request), "facts": case.facts} for case in page],
        "facets": facets,
        "next_url": absolute(wanted.href(page=page.number + 1)) if page.has_next() else None,
    }


def _page(rows: DocumentQuerySet, wanted: Asked) -> Page[Document]:
    found = _narrow(rows, wanted.chosen, wanted.words).prefetch_related(
        Prefetch("estimates", CaseEstimate.objects.filter(moment=CaseEstimate.AS_IT_FAILED))
    )
    return Paginator(found.defer("text", "html"), PAGE).get_page(wanted.page)


def _narrow(rows: DocumentQuerySet, chosen: Mapping[str, str], words: str) -> DocumentQuerySet:
    values = {FIELDS[name]: "" if value == NOT_TOLD else value for name, value in chosen.items()}
    return rows.with_review_state().having_words(words).filter(**values)


def _without(rows: DocumentQuerySet, wanted: Asked, name: str) -> int:
    """How many cases there are without this filter."""
    chosen = {key: value for key, value in wanted.chosen.items() if key != name}
    return _narrow(rows, chosen, "" if name == "q" else wanted.words).count()


def _facets(rows: DocumentQuerySet, wanted: Asked, knowledge: Knowledge) -> list[Facet]:
    counts = _counted(rows, wanted)
    return [_facet(name, counts.get(name, {}), wanted, _value_words(name, knowledge)) for name in FIELDS]


def _facet(name: str, counts: Mapping[str, int], wanted: Asked, words: Mapping[str, str]) -> Facet:
    """The values of one field with their counts among the cases that the other choices leave."""
    longest = max(counts.values(), default=1)
    choices = []
    for value, count in sorted(counts.items(), key=lambda pair: (not pair[0], -pair[1], pair[0])):
        key = value or NOT_TOLD
        on = wanted.chosen.get(name) == key
        href = wanted.href(drop=name) if on else wanted.href(add=(name, key))
        choices.append(Choice(_words(words, key), count, href, on, bool(value), max(1, 100 * count // longest)))
    return Facet(TITLES[name], tuple(choices))


def _counted(rows: DocumentQuerySet, wanted: Asked) -> dict[str, dict[str, int]]:
    """Facet → value → count, in one query. Over 100,000 cases it takes a while, so the answer is kept until a document changes."""
    key = (edition(), str(rows.query), wanted.words, *sorted(wanted.chosen.items()))
    if key not in _counts:
        if len(_counts) >= _COUNTS_KEPT:
            _counts.clear()
        counts: dict[str, dict[str, int]] = {}
        for name, value, count in _counting(rows, wanted):
            counts.setdefault(name, {})[value] = count
        _counts[key] = counts
    return _counts[key]


def _counting(rows: DocumentQuerySet, wanted: Asked) -> Iterable[tuple[str, str, int]]:
    """Each facet counts the cases that the choices of the others leave."""
    parts = []
    for name, field in FIELDS.items():
        others = {key: value for key, value in wanted.chosen.items() if key != name}
        left = _narrow(rows, others, wanted.words).order_by()
        parts.append(left.annotate(facet=Value(name)).values_list("facet", field).annotate(Count("pk")))
    return parts[0].union(*parts[1:], all=True)


def _value_words(name: str, knowledge: Knowledge) -> Mapping[str, str]:
    if name == "framework":
        return trainers(knowledge)
    if name == "gpu":
        return {gpu.slug: gpu.title for gpu in knowledge.gpus.values()}
    sizes = {size: words for size, (_, words) in SIZES.items()}
    told = {"kind": KINDS, "phase": PHASES, "review": Document.REVIEW_STATES, "outcome": OUTCOMES, "size": sizes}
    return told[name]


def _words(words: Mapping[str, str], value: str) -> str:
    if words is Document.REVIEW_STATES and value == NOT_TOLD:
        return "not reviewed"
    return "not told" if value == NOT_TOLD else words.get(value, value)


def _row(case: Document, frameworks: Mapping[str, str]) -> Row:
    estimate = next((one for one in case.estimates.all() if one.status == "done" and one.is_of(case)), None)
    return Row(
        case=case,
        tags=case_tags(case.thread or frameworks.get(case.framework, case.framework), case.facts, case.solved),
        marks=marks(case.worked, case.failed, case.suggested),
        picture=mini(estimate.result, case.oom_kind) if estimate else None,
    )
