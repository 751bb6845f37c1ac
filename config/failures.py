"""What people and programs are told when the ground under the site fails: what happened, what became of their words, what to do."""

from __future__ import annotations

import errno
import logging
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import Error, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import get_template
from django.views.defaults import page_not_found

from config.logs import request_id
from kb import sent

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Failure:
    """``title`` and ``words`` say what happened, ``cure`` what the visitor does; ``word`` is for programs."""

    word: str
    status: int
    title: str
    words: str
    cure: str = "Wait a minute, then try again."


_KEEP = "Keep your text until then."
GONE = Failure(
    "database does not answer", 503, "The database does not answer",
    "Every page and every diagnosis needs it. Those who run this site see it in the log; it goes on by itself when the database is back.",
)  # fmt: skip
BUSY = Failure(
    "database is busy", 503, "Too much is being saved at once", "The database did not come round to this in time.",
)  # fmt: skip
FULL = Failure(
    "disk is full", 503, "The disk of this site is full", "Nothing can be saved until those who run this site make room.",
    _KEEP,
)  # fmt: skip
BROKEN = Failure(
    "disk does not answer", 503, "The disk of this site does not take what is written",
    "Nothing can be saved until those who run this site have looked at it.", _KEEP,
)  # fmt: skip
LOCKED = Failure(
    "database takes no writing", 503, "The database takes no writing just now",
    "It can only be read: it is being moved, or its files do not belong to this site.", _KEEP,
)  # fmt: skip
OURS = Failure(
    "error of the site", 500, "Headroom failed on this", "The error is ours and stands in the log of this site.",
    "If it was a paste, a shorter one may pass: the last traceback and the launch command.",
)  # fmt: skip

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# By PostgreSQL's states (serialisation, deadlock, connections, lock, time limit …) and SQLite's codes.
_SIGNS: tuple[tuple[Failure, set[str | int]], ...] = (
    (FULL, {"53100", sqlite3.SQLITE_FULL}),
    (BROKEN, {"58030", sqlite3.SQLITE_IOERR}),
    (LOCKED, {"25006", sqlite3.SQLITE_READONLY}),
    (BUSY, {"40001", "40P01", "53300", "55P03", "57014", sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}),
)


def failed(request: HttpRequest) -> HttpResponse:
    """Django's handler for what nobody caught; called while the exception is still at hand."""
    failure, mark, accepted = cause(sys.exc_info()[1]), request_id.get(), request.headers.get("Accept", "")
    headers = {"Cache-Control": "no-store"} | ({"Retry-After": "60"} if failure.status == 503 else {})
    if "application/json" in accepted or request.path.endswith(".json"):
        told = {"error": failure.word, "message": f"{failure.title}. {failure.words}", "request": mark}
        return JsonResponse(told, status=failure.status, headers=headers)
    html = ""
    if "text/html" in accepted or "HX-Request" in request.headers:
        html = _page(request, failure, mark)
    words = f"{failure.title}. {failure.words} {failure.cure} (request {mark})\n"
    kind = "html" if html else "plain"
    return HttpResponse(html or words, f"text/{kind}; charset=utf-8", failure.status, headers=headers)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler for an address without a page: who asked for data or text is told in a form that a program reads."""
    words = "There is no page at this address, or not for you."
    if request.path.endswith(".json"):
        return JsonResponse({"error": "not found", "message": words}, status=404)
    if request.path.endswith(".md"):
        return HttpResponse(f"{words}\n", "text/plain; charset=utf-8", 404)
    return page_not_found(request, exception)


def _page(request: HttpRequest, failure: Failure, mark: str) -> str:
    """Made without the request, since what every page knows of its viewer stands in the database; empty where it cannot be made."""
    name = "_failed.html" if "HX-Request" in request.headers else "500.html"
    context = {"failure": failure, "mark": mark, "again": list(sent.fields(request)), "sent": request.method == "POST"}
    try:
        return str(get_template(name).render(context))
    except Exception:  # its styles or templates may be what is missing
        log.exception("no page for a failure")
        return ""


def cause(error: BaseException | None) -> Failure:
    """What lies under an exception, as far as the one who asked can do something about it."""
    for link in _chain(error):
        if isinstance(link, OSError) and link.errno in _NO_ROOM:
            return FULL
        if isinstance(link, Error) and (failure := _of_database(link)):
            return failure
    return OURS


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _of_database(error: Error) -> Failure | None:
    """Of Django's exception around the driver's, which knows more; None where the statement and not the server is at fault."""
    driver = error.__cause__
    state: str = getattr(driver, "sqlstate", None) or ""
    code: int = getattr(driver, "sqlite_errorcode", -1) & 0xFF  # 255 is none of them
    told = next((failure for failure, signs in _SIGNS if state in signs or code in signs), None)
    if told or code == sqlite3.SQLITE_ERROR:
        return told
    return GONE if isinstance(error, (OperationalError, InterfaceError)) else None
