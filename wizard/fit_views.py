"""Will it fit? A run that has not begun: its settings in the address, the verdict and what fits around it on the page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from diagnose.fit import fit
from diagnose.knowledge import Knowledge, current
from diagnose.pipeline import brought_to_fit, foresee
from diagnose.report import fit_to_json
from diagnose.types import Diagnosis
from diagnose.units import gib, tenths
from diagnose.words import value_words
from diagnose.words.figures import NBSP, phase_tenths
from kb.tokens import for_programs
from wizard import advice, fit_form, fit_settings, fit_tables, reading, state
from wizard.answering import pairs
from wizard.chart.data import shown
from wizard.notes import Note
from wizard.present import foreseen
from wizard.state import Answers


@require_safe
def calculator(request: HttpRequest) -> HttpResponse:
    asked = pairs(request.GET)
    answers = fit_settings.read(asked)
    tidy = dict(asked) == {id: state.as_text(value) for id, value in answers.values.items()}
    query = state.query(answers.values if answers.values or answers.errors else fit_settings.start())
    if not answers.errors and not (tidy and answers.values):
        return HttpResponseRedirect(f"{reverse('wizard:fit')}?{query}")
    response = render(
        request, "wizard/fit.html", {**_context(answers, current()), "fit_query": query, "section": "fit"}
    )
    response.headers["X-Robots-Tag"] = "noindex"
    if request.headers.get("HX-Request"):
        response.headers["HX-Push-Url"] = f"{reverse('wizard:fit')}?{query}"
    return response


@require_safe
@for_programs("match", cookies=True)
def as_data(request: HttpRequest) -> HttpResponse:
    """The same for programs; a value that does not fit its setting is refused with its cure."""
    answers = fit_settings.read(pairs(request.GET))
    if answers.errors:
        problems = [{"place": id, "says": cure} for id, cure in answers.errors.items()]
        return JsonResponse({"error": "A setting does not fit.", "problems": problems}, status=422)
    diagnosis = foresee(answers.values, current())
    together = brought_to_fit(diagnosis, current())
    made = fit_to_json(diagnosis, fit(diagnosis.facts, current().fallback), together)
    return JsonResponse({"schema_version": 1, **made}, json_dumps_params={"ensure_ascii": False})


def _context(answers: Answers, knowledge: Knowledge) -> dict[str, Any]:
    diagnosis = foresee(answers.values, knowledge)
    found = fit(diagnosis.facts, knowledge.fallback)
    made, together = foreseen(diagnosis), brought_to_fit(diagnosis, knowledge)
    return {
        **made,
        "together": advice.together(diagnosis, together),
        "together_link": state.query({**answers.values, **together.settings}) if together else "",
        "notes": (*made["notes"], *_notes(diagnosis)),
        "form": fit_form.form(diagnosis, answers, knowledge),
        "names": {"model": reading.catalogues(knowledge)["model"]},
        "lengths": _lengths(diagnosis),
        "largest": fit_tables.largest(found, answers, diagnosis.facts),
        "map": fit_tables.table(found, answers),
        "capacity": _capacity(diagnosis),
        "title": _title(diagnosis),
    }


def _capacity(diagnosis: Diagnosis) -> str:
    gpu = diagnosis.estimate.gpu
    return gib(gpu.capacity) if gpu and gpu.capacity is not None else ""


def _title(diagnosis: Diagnosis) -> str:
    """The room that is left, where it fits; as the figures below have it, from rounded parts."""
    pool = diagnosis.estimate.pool(diagnosis.pool or "gpu")
    if pool is None or pool.limit is None or diagnosis.verdict != "fits":
        return ""
    return f"It fits, with {shown(tenths(pool.limit) - phase_tenths(pool.worst)[0])}{NBSP}GiB to spare"


def _lengths(diagnosis: Diagnosis) -> str:
    """How long the rows are taken to be, and what “fits” then means."""
    facts, id = diagnosis.facts, "real_response_length"
    fact = facts.stated.get(id)
    if diagnosis.estimate.gpu is None:
        return ""
    if fact is None:
        return "Rows count at their limit, or as the token budget packs them: real lengths do not matter here."
    real = value_words(id, fact.value)
    if fact.origin == "assumed":
        return (
            f"Real answers are not told: {real} in the worst pass, {fact.why}. "
            "The band reaches to every answer at its limit; what “fits” below fits on that day too."
        )
    return f"Real answers of {real} on average, as told. The band reaches to the longest that is told, and no further."


def _notes(diagnosis: Diagnosis) -> tuple[Note, ...]:
    """A framework that is none of the catalogue: the page speaks of plain training then."""
    named = diagnosis.facts.values.get("framework")
    known = diagnosis.facts.fork or (diagnosis.facts.framework and not diagnosis.facts.framework.fallback)
    if named is None or known:
        return ()
    words = "The figures are those of plain training, with what is usual in trainers. Choose one of the list for its own plan."
    return (Note("This framework is not in the catalogue", words, (str(named),)),)
