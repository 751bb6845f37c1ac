"""A diagnosis → the answer to a request: the page, kept out of shared caches and search engines."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers

from diagnose.knowledge import current
from diagnose.types import Diagnosis
from diagnose.words import chinese
from kb.sent import BACK_ONLY
from wizard.near import NEAR
from wizard.pictures import pictures
from wizard.present import present
from wizard.state import Answers


def answer(
    request: HttpRequest, diagnosis: Diagnosis, answers: Answers, *, pasted: bool, more: Mapping[str, object] = {}
) -> HttpResponse:
    """The page of a diagnosis; ``more`` is what a saved one adds."""
    drawn = pictures(match.case for match in diagnosis.matches[:NEAR])
    context = present(diagnosis, answers, current(), pasted=pasted, pictures=drawn)
    reads = prefers_chinese(request) or chinese.is_chinese(diagnosis.paste.text)
    response = render(
        request,
        "wizard/result.html",
        {**context, **more, "chinese": chinese.summary(diagnosis) if reads else None, "section": "diagnose"},
    )
    patch_vary_headers(response, ["Accept-Language"])
    response.headers["X-Robots-Tag"] = "noindex"
    if request.method == "POST":
        response.headers["Cache-Control"] = BACK_ONLY
    if request.headers.get("HX-Request") and context["link"]:
        response.headers["HX-Push-Url"] = f"{reverse('wizard:result')}?{context['link']}"
    return response


def prefers_chinese(request: HttpRequest) -> bool:
    """Whether it is the first of the languages that the browser asks for."""
    return request.headers.get("Accept-Language", "").strip().lower().startswith("zh")


def pairs(query: object) -> list[tuple[str, str]]:
    """Names and values of a query string or a form in their order, every value of a repeated name."""
    return [(name, value) for name, values in query.lists() for value in values]  # type: ignore[attr-defined]
