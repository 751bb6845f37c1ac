"""The catalogue: what the files under ``content/`` say, one list and one page a kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from diagnose.estimate.capacity import SOLD_TO_SHOWN
from diagnose.knowledge import Knowledge, current
from diagnose.knowledge.records import Case
from diagnose.vocabulary import FACTS, PHASES
from diagnose.words.advisory import find_out, heading, range_words
from kb import catalogue, error_page, framework_page, log_page, notes, rules_in_words
from kb.cases import cases_for
from kb.evidence import counted, outcomes
from kb.kept import kept_for_visitors
from kb.markdown import as_rendered
from kb.sections import sections, source_name

R = TypeVar("R")
Grouped = Callable[[Knowledge, Sequence[Case]], catalogue.Groups]


@require_safe
@kept_for_visitors
def levers(request: HttpRequest) -> HttpResponse:
    return _list(
        request, catalogue.levers, "levers", "Levers", "What can be changed, what it costs, and where it helped."
    )


@require_safe
@kept_for_visitors
def advisories(request: HttpRequest) -> HttpResponse:
    lead = "Memory faults and changes of packages: from which version to which, how they show, and where to move."
    return _list(request, catalogue.advisories, "advisories", "Advisories", lead)


@require_safe
@kept_for_visitors
def errors(request: HttpRequest) -> HttpResponse:
    return _list(request, catalogue.errors, "errors", "Errors", "The messages that are recognised, by what runs out.")


@require_safe
@kept_for_visitors
def frameworks(request: HttpRequest) -> HttpResponse:
    lead = "How each is recognised, which key means what, and what stays in memory when."
    return _list(request, catalogue.frameworks, "frameworks", "Frameworks", lead)


@require_safe
@kept_for_visitors
def gpus(request: HttpRequest) -> HttpResponse:
    lead = "What a card really has, as its driver prints it; the size as sold where no print was at hand."
    return _list(request, catalogue.gpus, "gpus", "GPUs", lead)


@require_safe
@kept_for_visitors
def models(request: HttpRequest) -> HttpResponse:
    return _list(request, catalogue.models, "models", "Models", "The numbers of config.json that memory depends on.")


@require_safe
@kept_for_visitors
def datasets(request: HttpRequest) -> HttpResponse:
    return _list(request, catalogue.datasets, "datasets", "Data sets", "How long their rows are, in tokens.")


@require_safe
@kept_for_visitors
def logs(request: HttpRequest) -> HttpResponse:
    return _list(request, catalogue.logs, "logs", "Log lines", "Where programs print their memory and lengths.")


@require_safe
@kept_for_visitors
def lever(request: HttpRequest, slug: str) -> HttpResponse:
    """What it changes, in which keys, when it helps, what it costs, how to check and undo it, and who tried it."""
    record = _record(current().levers, slug)
    told = outcomes(slug, cases_for(request.user))
    context = {
        "changes": [rules_in_words.change(change) for change in record.changes],
        "keys": catalogue.lever_keys(record, current()),
        "when": rules_in_words.conditions(record.when),
        "pools": [{"gpu": "GPU memory", "host": "host RAM"}.get(pool, pool) for pool in record.pools],
        "group": catalogue.GROUPS.get(slug.split(".")[0], slug.split(".")[0].capitalize()),
        "outcomes": [(outcome, PHASES.get(str(outcome.case.facts.get("phase")), "")) for outcome in told],
        "marks": counted(told),
        "advisories": [one for one in current().advisories.values() if one.lever == slug],
        "sections": sections(record.body),
    }
    return _page(request, "lever", "levers", record, context)


@require_safe
@kept_for_visitors
def advisory(request: HttpRequest, slug: str) -> HttpResponse:
    """Which versions have it, how it shows, when it is told, and where to move."""
    record = _record(current().advisories, slug)
    told = outcomes(slug, cases_for(request.user))
    context = {
        "range": range_words(record),
        "heading": heading(record, record.target),
        "points": catalogue.points(record),
        "when": rules_in_words.conditions(record.when),
        "lever": current().levers[record.lever],
        "errors": [current().signatures[one] for one in record.signatures],
        "find_out": find_out(record),
        "outcomes": [(outcome, PHASES.get(str(outcome.case.facts.get("phase")), "")) for outcome in told],
        "marks": counted(told),
        "sections": sections(record.body),
    }
    return _page(request, "advisory", "advisories", record, context)


@require_safe
@kept_for_visitors
def error(request: HttpRequest, slug: str) -> HttpResponse:
    """What a message means and advises, how it is recognised, what it gives, an example that is and one that is not it."""
    record = _record(current().signatures, slug)
    captures = [
        (FACTS[capture.fact].title, capture.unit) for capture in record.captures.values() if capture.fact in FACTS
    ]
    context = {
        "kind": catalogue.what_it_tells(record),
        "phase": PHASES.get(record.phase, ""),
        "of_memory": record.kind != "other",
        "remedies": error_page.remedies(record, current(), cases_for(request.user)),
        "faults": error_page.faults(record, current()),
        "answer": error_page.answer_href(record),
        "captures": list(dict.fromkeys(captures)),
        "sections": sections(record.body),
    }
    return _page(request, "error", "errors", record, context)


@require_safe
@kept_for_visitors
def framework(request: HttpRequest, slug: str) -> HttpResponse:
    """How it is recognised, its keys, what stays resident and what it does."""
    record = _record(current().frameworks, slug)
    told = catalogue.told_of("framework", [slug], cases_for(request.user))
    faults = [one for one in current().advisories.values() if one.package == slug]
    page = framework_page.page(record, request.GET.get("key", "").strip()[:100])
    context = {**page, "cases": told, "faults": faults, "sections": sections(record.body)}
    return _page(request, "framework", "frameworks", record, context)


@require_safe
@kept_for_visitors
def gpu(request: HttpRequest, slug: str) -> HttpResponse:
    """Its sizes as sold and as printed, and the cases that ran on it."""
    record = _record(current().gpus, slug)
    told = catalogue.told_of("gpu_model", [record.title, *record.aliases], cases_for(request.user))
    sizes = [(size, record.printed(size)) for size in record.sizes]
    context = {"sizes": sizes, "counted_as": "" if all(printed for _, printed in sizes) else SOLD_TO_SHOWN}
    return _page(request, "gpu", "gpus", record, {"cases": told, "sections": sections(record.body), **context})


@require_safe
@kept_for_visitors
def model(request: HttpRequest, slug: str) -> HttpResponse:
    """Its shape, and the cases that trained it."""
    record = _record(current().models, slug)
    told = catalogue.told_of("model", [record.title, *record.aliases], cases_for(request.user))
    context = {"shape": catalogue.shape(record), "cases": told, "sections": sections(record.body)}
    return _page(request, "model", "models", record, context)


@require_safe
@kept_for_visitors
def dataset(request: HttpRequest, slug: str) -> HttpResponse:
    """Its lengths, who counted them with which tokenizer, and by what names a command is known to use it."""
    record = _record(current().datasets, slug)
    context = {"lengths": catalogue.lengths(record), "sections": sections(record.body)}
    return _page(request, "dataset", "datasets", record, context)


@require_safe
@kept_for_visitors
def log(request: HttpRequest, slug: str) -> HttpResponse:
    """How its lines are recognised, what each figure counts at which moment, and examples with what is read from them."""
    record = _record(current().logs, slug)
    return _page(request, "log", "logs", record, {**log_page.page(record), "sections": sections(record.body)})


def _list(request: HttpRequest, grouped: Grouped, section: str, title: str, lead: str) -> HttpResponse:
    groups = grouped(current(), cases_for(request.user))
    total = sum(len(entries) for _, entries in groups)
    context = {"section": section, "title": title, "lead": lead, "groups": groups, "total": total}
    return render(request, "kb/catalogue.html", context)


def _page(
    request: HttpRequest, template: str, section: str, record: object, context: Mapping[str, object]
) -> HttpResponse:
    sources = [(address, source_name(address)) for address in getattr(record, "sources", ())]
    note_slug = f"{notes.FOLDERS[template]}/{getattr(record, 'slug', '')}"
    note = notes.on(note_slug, request.user)
    more = {"section": section, "record": record, "sources": sources, "note": note, "note_slug": note_slug}
    more["note_body"] = as_rendered(note.html) if note else ""
    return render(request, f"kb/{template}.html", {**more, **context})


def _record(records: Mapping[str, R], slug: str) -> R:
    if slug not in records:
        raise Http404(f"no record “{slug}”")
    return records[slug]
