"""Documents out as one zip and in from one, for admins: what the commands ``export`` and ``import`` do, in the browser."""

from __future__ import annotations

import tempfile
from typing import Any, cast

from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from diagnose.knowledge import current
from diagnose.knowledge.loader import Problem
from kb import audit, exchange, saving, tasks
from kb.attachments import clean_name
from kb.permissions import needs

LARGEST = 20 * 1024**2  # bytes of a zip
MOST = 2000  # documents at once: about half a minute; more by the command
_IN_MEMORY = 8 * 1024**2


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("import")
def page(request: HttpRequest) -> HttpResponse:
    """The two ways; after an import what became of each document."""
    told: dict[str, Any] = {"largest": LARGEST, "most": MOST}
    if request.method == "POST":
        told |= _taken_in(request)
    return render(request, "kb/exchange.html", told, status=422 if told.get("refused") else 200)


def _taken_in(request: HttpRequest) -> dict[str, Any]:
    upload, by = request.FILES.get("zip"), cast(User, request.user)
    if not isinstance(upload, UploadedFile) or not upload.size or upload.file is None:
        return {"refused": "Choose a zip that holds something."}
    if upload.size > LARGEST:
        return {"refused": f"The file has {upload.size:,} bytes, at most {LARGEST:,} are taken here."}
    problems: list[Problem] = []
    try:
        done = exchange.take_in(upload.file, current(), "update" in request.POST, saving.name_of(by), MOST)
    except exchange.Unfit as misfit:
        done, problems = misfit.done, misfit.problems
    except exchange.UNREADABLE as misfit:
        return {"refused": f"It cannot be read: {misfit}."}
    audit.note(by, "imported", clean_name(upload.name or ""), done.words("Documents"))
    tasks.wake()
    return {"done": done, "problems": problems}


@never_cache
@require_safe
@needs("export")
def download(request: HttpRequest) -> FileResponse:
    """Every published document as ``kind/slug.md``."""
    file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (the response closes it)
    done = exchange.export_zip(file)
    file.seek(0)
    audit.note(cast(User, request.user), "exported", f"{len(done.written)} documents", "as a zip")
    name = f"headroom-{timezone.localdate():%Y-%m-%d}.zip"
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")
