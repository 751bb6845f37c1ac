"""Each request has an id, a line in the log and a place in the figures; none of them holds an address, which may carry facts or a key."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from config.logs import page_of, request_id
from kb import metrics
from kb.sent import written_on

_FROM_PROXY = re.compile(r"[A-Za-z0-9._-]{8,64}")
log = logging.getLogger("headroom.requests")


def told(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware, the outermost: takes the proxy's ``X-Request-ID`` or draws one, and tells how it went."""

    def tell(request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        # It stays until the next request of this thread: Django writes its own line of a refusal when this has returned.
        request_id.set(given if _FROM_PROXY.fullmatch(given) else secrets.token_hex(8))
        began = time.perf_counter()
        response = get_response(request)
        seconds, page = time.perf_counter() - began, page_of(request)
        response.headers["X-Request-ID"] = request_id.get()
        method = request.method if request.method in ("GET", "HEAD", "POST", "PUT") else "OTHER"
        metrics.answered(page, method, response.status_code, seconds)
        told = {"page": page, "method": method, "status": response.status_code, "ms": round(seconds * 1000, 1)}
        log.info("%(method)s %(page)s %(status)s in %(ms)s ms", told, extra={"told": told})
        return response

    return tell


def led_back(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: whose browser opens an address that takes a form alone, as by its bar, comes to the page of that form."""

    def lead(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if (
            response.status_code != 405
            or request.method != "GET"
            or "text/html" not in request.headers.get("Accept", "")
        ):
            return response
        page = written_on(request)
        return HttpResponseRedirect(reverse("wizard:start") if page == request.get_full_path() else page)

    return lead
