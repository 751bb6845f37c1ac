"""Pages that every visitor gets alike, kept by each web process until something in the base changes.

A visitor has neither a session nor a message waiting, so at one address all of them get the same. What is kept was made for one of them by
the same view under the same rule (``visible_to``), and is found again under the present edition alone: the first page after a change
is a new one. It lies here compressed, and is sent so to those who take it. Nothing in it is a secret: a page with the token of a form
is not kept.
"""

from __future__ import annotations

import gzip
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from threading import Lock
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers

from kb.models import whole_edition

View = Callable[..., HttpResponse]
MOST_BYTES = 16 * 1024 * 1024  # of all pages of one process, compressed: about four thousand cases
_OF_SOMEBODY = (settings.SESSION_COOKIE_NAME, "messages")


@dataclass(frozen=True)
class Page:
    """One answer. ``mark`` is its ETag."""

    body: bytes
    type: str
    mark: str


_pages: OrderedDict[tuple[object, ...], Page] = OrderedDict()
_size = 0
_lock = Lock()


def kept_for_visitors(view: View) -> View:
    """A view whose answer to a visitor depends on the address and on documents with what stands around them, on nothing else."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not _is_visitor(request):
            return view(request, *args, **kwargs)
        key = (whole_edition(), request.scheme, request.get_host(), request.get_full_path())
        page = _find(key)
        if page is None:
            response = view(request, *args, **kwargs)
            if not _may_be_kept(request, response):
                return response
            page = _keep(key, response)
        return _sent(request, page)

    return answer


def forget() -> None:
    """Everything that is kept."""
    global _size
    with _lock:
        _pages.clear()
        _size = 0


def _is_visitor(request: HttpRequest) -> bool:
    somebody = any(name in request.COOKIES for name in _OF_SOMEBODY)
    asks_otherwise = "HX-Request" in request.headers or "Authorization" in request.headers
    return not (settings.MEMBERS_ONLY or somebody or asks_otherwise)


def _may_be_kept(request: HttpRequest, response: HttpResponse) -> bool:
    has_form = request.META.get("CSRF_COOKIE_NEEDS_UPDATE", False)
    return response.status_code == 200 and not has_form and "Cache-Control" not in response.headers


def _find(key: tuple[object, ...]) -> Page | None:
    with _lock:
        if key in _pages:
            _pages.move_to_end(key)
        return _pages.get(key)


def _keep(key: tuple[object, ...], response: HttpResponse) -> Page:
    global _size
    mark = f'W/"{hashlib.sha256(response.content).hexdigest()[:20]}"'
    page = Page(gzip.compress(response.content, 5, mtime=0), response.headers["Content-Type"], mark)
    with _lock:
        _size += len(page.body) - len(_pages[key].body if key in _pages else b"")
        _pages[key] = page
        while _size > MOST_BYTES:
            _size -= len(_pages.popitem(last=False)[1].body)
    return page


def _sent(request: HttpRequest, page: Page) -> HttpResponse:
    packed = "gzip" in request.headers.get("Accept-Encoding", "")
    response = HttpResponse(page.body if packed else gzip.decompress(page.body), page.type, headers={"ETag": page.mark})
    if packed:
        response.headers["Content-Encoding"] = "gzip"
    patch_vary_headers(response, ("Cookie", "Accept-Encoding"))
    answer = get_conditional_response(request, etag=page.mark, response=response)
    assert isinstance(answer, HttpResponse)
    return answer
