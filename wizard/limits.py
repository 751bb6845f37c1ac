"""How much a visitor may send. A body that is too large gets a page that says what to do, before anything reads it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
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
# A form without files: a reduced paste and answers. Django takes up to forty times its length to read one.
FIELDS = 1 * MB


# What a page says beside the size of what is too large; a script says it before anything is sent.
PASTE_WORDS = (
    f"pasted; the box takes {PASTE // MB} MB. Keep the last 400 lines and the launch command, or add the log as a file."
)
FILES_WORDS = f"in files; {FILES // MB} MB are taken. Cut the longest first, as in tail -c 50M train.log > short.log"


def size_words(size: int) -> str:
    return f"{size / MB:,.0f} MB"


def at_most(limit: int) -> Callable[[View], Guarded]:
    """Refuses a form above ``limit`` bytes by its announced length. The token is checked after that, not before."""

    def decorate(view: View) -> Guarded:
        checked = decorator_from_middleware(_token_check())(view)

        @csrf_exempt
        @wraps(view)
        def guarded(request: HttpRequest) -> HttpResponseBase:
            sent, most = content_length(request), limit if request.content_type == "multipart/form-data" else FIELDS
            if sent > most:
                return too_large(request, sent, most)
            try:
                return checked(request)
            except RequestDataTooBig:  # its text fields, files left out
                return too_large(request, sent, PASTE)

        return guarded

    return decorate


def _token_check() -> type[CsrfViewMiddleware]:
    """The site's own check against forged forms, as the settings name it; Django's decorator would take its plain one."""
    named = (import_string(name) for name in settings.MIDDLEWARE)
    return next(check for check in named if isinstance(check, type) and issubclass(check, CsrfViewMiddleware))


def content_length(request: HttpRequest) -> int:
    announced = request.META.get("CONTENT_LENGTH") or "0"
    return int(announced) if announced.isdecimal() else 0


def too_large(request: HttpRequest, sent: int, limit: int) -> HttpResponse:
    context = {"sent": size_words(sent), "limit": size_words(limit), "shell_limit": size_words(SHELL)}
    return render(request, "413.html", context, status=413)
