"""Search, and suggestions while typing."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from diagnose.knowledge import current
from kb.kept import kept_for_visitors
from kb.search import results
from kb.search.find import suggest


@require_safe
@kept_for_visitors
def search(request: HttpRequest) -> HttpResponse:
    """The pages that have the words; a log in the search box is offered to the wizard and never searched."""
    query = request.GET.get("q", "")
    if results.is_log(query):
        response = render(request, "kb/search_log.html", {"text": query, "section": "search"}, status=200)
        response.headers["Cache-Control"] = "no-store"
        return response
    return render(request, "kb/search.html", results.page(request.GET, request.user, current()))


@require_safe
def suggestions(request: HttpRequest) -> HttpResponse:
    """A fragment for below the search box."""
    query = request.GET.get("q", "")
    entries = [] if results.is_log(query) else suggest(query, request.user, current())
    return render(request, "kb/_suggestions.html", {"hits": results.hits(entries)})
