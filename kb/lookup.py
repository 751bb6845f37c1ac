"""From an address to the document that the viewer may see there: the one way into every view of a document."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from kb.members_only import ask_to_sign_in
from kb.models import Document, OldSlug
from kb.permissions import may

View = Callable[..., HttpResponse]


def on_document(action: str = "") -> Callable[[View], View]:
    """Gives a view the document at ``kind`` and ``slug`` in their place; 404 where the viewer may not see it, 301 from an old address.

    With ``action`` it must also be one that the viewer may do to this document: a visitor is asked to sign in.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def found(request: HttpRequest, kind: str, slug: str, **more: Any) -> HttpResponse:
            if action and not request.user.is_authenticated:
                return ask_to_sign_in(request)
            document = Document.objects.visible_to(request.user).at(kind, slug)
            if document is None:
                return moved(request, kind, slug)
            if action and not may(request.user, action, document):
                raise PermissionDenied
            return view(request, document, **more)

        return found

    return decorate


def moved(request: HttpRequest, kind: str, slug: str) -> HttpResponse:
    """A permanent redirect from an address that a document had; 404 where there was none, or none that the viewer may see."""
    visible = Document.objects.visible_to(request.user)
    old = OldSlug.objects.filter(kind=kind, slug=slug, document__in=visible).select_related("document").first()
    match = request.resolver_match
    if old is None or match is None:
        raise Http404("no document at this address")
    kept = {name: value for name, value in match.kwargs.items() if name != "slug"}
    address = reverse(match.view_name, kwargs={**kept, "slug": old.document.slug})
    query = request.META.get("QUERY_STRING", "")
    return redirect(f"{address}?{query}" if query else address, permanent=True)
