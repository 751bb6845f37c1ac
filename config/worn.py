"""What somebody gets whose form brought no token that holds: after a sign-in in another tab all older pages have worn ones."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from kb import sent
from wizard import views


def refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Nothing was done, and what was typed comes back.

    A form that is sent again by one click must come from a page of this site: a browser that vouches for that has it with a new token,
    any other the words alone. The paste box is the exception: what it asks for changes nothing.
    """
    typed = dict(sent.fields(request))
    match = request.resolver_match
    if match and match.view_name == "wizard:result" and typed.get("paste"):
        return views.too_old(request)
    own = sent.from_here(request)
    context = {
        "again": [(name, value) for name, value in sent.fields(request) if name != sent.TOKEN] if own else [],
        "words": sent.WORDS,
        "typed": [] if own else [typed[name] for name in sent.WORDS if typed.get(name)],
    }
    whole = request.headers.get("HX-Target", "main") == "main"
    page = "403_csrf.html" if whole or "HX-Request" not in request.headers else "_worn.html"
    return render(request, page, context, status=403)
