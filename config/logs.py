"""Lines of the log: words for people, or one JSON object a line for machines; both with the id of the request."""

from __future__ import annotations

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime

from django.http import HttpRequest

request_id: ContextVar[str] = ContextVar("request_id", default="")


class WithRequest(logging.Filter):
    """Gives every record the id of the request that it was written in, and takes out its address, which may be a key to something."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get() or "-"
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            record.args = tuple(page_of(request) if arg == request.path else arg for arg in record.args)
        return True


def page_of(request: HttpRequest) -> str:
    """The name of a page, as ``kb:case``; never its address."""
    match = request.resolver_match
    return (match.view_name or "unnamed") if match else "none"


class JsonLines(logging.Formatter):
    """One object a line: ``at``, ``level``, ``logger``, ``message``, ``request``, what was told, and the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request": getattr(record, "request_id", "-"),
            **getattr(record, "told", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
