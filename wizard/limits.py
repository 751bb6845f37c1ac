"""How much a visitor may send. A body that is too large gets a page that says what to do, before anything reads it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware
from django.shortcuts import render
from django.utils.decorators import decorator_from_middleware
from django.utils.module_loading import import_string
from django.views.decorators.csrf import csrf_exempt

View = Callable[[HttpRequest], HttpResponse]
Guarded = Callable[[HttpRequest], HttpResponseBase]

MB = 1000**2
PASTE = 16 * MB
FILES = 100 * MB
SHELL = 200 * MB


def size_words(size: int) -> str:
    return f"{size / MB:,.0f} MB"


def at_most(limit: int) -> Callable[[View], Guarded]:
    """Refuses a body above ``limit`` bytes by its announced length. The token is checked after that, not before."""

    def decorate(view: View) -> Guarded:
        checked = decorator_from_middleware(_token_check())(view)

        @csrf_exempt
        @wraps(view)
        def guarded(request: HttpRequest) -> HttpResponseBase:
            sent = content_length(request)
            return too_large(request, sent, limit) if sent > limit else checked(request)

        return guarded

    return decorate


def _token_check() -> type[CsrfViewMiddleware]:
    """The site's own check against forged forms, as the settings name it; Django's decorator would take its plain one."""
    named = (import_string(name) for name in settings.MIDDLEWARE)
    return next(check for check in named if isinstance(check, type) and issubclass(check, CsrfViewMiddleware))


def content_length(request: HttpRequest) -> int:
    announced = request.META.get("CONTENT_LENGTH") or "0"
    return int(announced) if announced.isdigit() else 0


def too_large(request: HttpRequest, sent: int, limit: int) -> HttpResponse:
    context = {"sent": size_words(sent) if sent else "", "limit": size_words(limit)}
    return render(request, "413.html", context, status=413)
