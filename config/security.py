"""Headers of every page, the origin check that fits them, and how pages are compressed."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.gzip import GZipMiddleware

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "font-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_TEXT = ("text/", "application/json", "application/atom+xml")
PERMISSIONS_POLICY = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"


def security_headers(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Adds the policies that Django's own middleware does not know."""

    def add(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        if request.method == "POST":
            # It is shown to nobody else: a cookie that changed since must not keep the browser from showing it when its person goes back.
            response.headers.pop("Vary", None)
        return response

    return add


class OriginCheck(CsrfViewMiddleware):
    """Django's protection against forged forms, for pages that send no referrer.

    A page under ``Referrer-Policy: no-referrer`` posts its own forms with ``Origin: null`` (Fetch, "append a request Origin
    header"), which Django takes for a stranger. Then the browser's ``Sec-Fetch-Site`` decides; over plain HTTP to another
    machine browsers do not send that, and the token alone decides. The token is compared in every case.
    """

    def _origin_verified(self, request: HttpRequest) -> bool:
        if request.META.get("HTTP_ORIGIN") == "null":
            trusted_without = "" if request.is_secure() else "same-origin"
            return bool(request.META.get("HTTP_SEC_FETCH_SITE", trusted_without) == "same-origin")
        return bool(super()._origin_verified(request))  # type: ignore[misc]


class Packed(GZipMiddleware):
    """Compresses pages and data, never files. Random bytes in each answer hide its length from those who guess at what stands in it."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_text = response.headers.get("Content-Type", "").startswith(_TEXT)
        return super().process_response(request, response) if is_text and not response.streaming else response
