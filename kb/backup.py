"""Everything that people wrote, in one zip, and back: rows as JSON lines in the order in which they can be loaded, and the files.

What can be made again is left out: the search index, the estimates, sessions and caches. The key of ``SECRET_KEY`` is no part of it:
with another one people sign in anew, and links that were sent out stop working.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core import serializers
from django.core.exceptions import SuspiciousOperation
from django.core.files.storage import default_storage
from django.core.management.color import no_style
from django.core.serializers.base import DeserializationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, models, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F
from django.utils import timezone

from kb.models import Attachment, Document
from kb.search import index

FORMAT = 1
ROWS, MANIFEST, FILES = "rows.jsonl", "manifest.json", "files/"
_MADE_AGAIN = {"kb.Entry", "kb.Edition", "kb.CaseEstimate", "kb.Refresh"}
_OF_DJANGO = {"contenttypes", "sessions"}
_BATCH = 500


class BackupError(Exception):
    """The backup cannot be read, or not into this base; the message says why and what to do."""


@dataclass(frozen=True)
class Kept:
    """What a backup holds; ``lost`` are files that pages have and that could not be read when it was made."""

    rows: int
    files: int
    lost: tuple[str, ...] = ()


def write(path: Path) -> Kept:
    """Writes everything to ``path``, which others than its owner cannot read; whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "w+b") as raw:
            kept = _write(raw)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return kept


def read(path: Path) -> Kept:
    """Puts a backup into this base, which must be empty of people and of what they wrote; all of it or nothing. Raises ``BackupError``."""
    try:
        raw = path.open("rb")
    except OSError as misfit:
        cure = "name a file that this user may read; a backup is readable by the one who made it alone"
        raise BackupError(f"{path} cannot be opened ({misfit.strerror}): {cure}") from None
    try:
        with raw, zipfile.ZipFile(raw) as archive:
            manifest = json.loads(archive.read(MANIFEST))
            _check(manifest)
            return _read(archive, set(manifest.get("lost", ())))
    except (OSError, zipfile.BadZipFile, KeyError, ValueError, SuspiciousOperation, DeserializationError) as misfit:
        raise BackupError(f"{path.name} is no backup, or a damaged one: {misfit}") from misfit


def backed_up() -> list[type[models.Model]]:
    """Every model whose rows cannot be made again: a new one is in the backup without a word said here."""
    grouped = [
        (config, [model for model in config.get_models() if _wanted(model)])
        for config in apps.get_app_configs()
        if config.label not in _OF_DJANGO
    ]
    return list(serializers.sort_dependencies(grouped, allow_cycles=True))


def _wanted(model: type[models.Model]) -> bool:
    return model._meta.label not in _MADE_AGAIN and model._meta.label != "auth.Permission"


def _write(raw: IO[bytes]) -> Kept:
    lost: list[str] = []
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive, transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:  # one moment for all tables
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        rows = 0
        with archive.open(ROWS, "w", force_zip64=True) as member, io.TextIOWrapper(member, "utf-8") as lines:
            for model in backed_up():
                rows += _write_rows(model, lines)
        names = list(Attachment.objects.values_list("file", flat=True))
        for name in names:
            try:
                source = default_storage.open(name)
            except OSError:  # taken away a moment ago, or lost: no reason to keep nothing of all the rest
                lost.append(name)
                continue
            with source, archive.open(FILES + name, "w") as target:
                target.write(source.read())
        told = {"format": FORMAT, "made": timezone.now().isoformat(), "rows": rows, "lost": lost}
        archive.writestr(MANIFEST, json.dumps({**told, "migrations": _migrations()}, indent=1))
    return Kept(rows, len(names) - len(lost), tuple(lost))


def _write_rows(model: type[models.Model], lines: io.TextIOWrapper) -> int:
    rows = model._default_manager.order_by("pk").iterator(chunk_size=_BATCH)
    count = 0
    for row in rows:
        count += 1
        lines.write(serializers.serialize("jsonl", [row], ensure_ascii=False, cls=_Exact))
    return count


class _Exact(DjangoJSONEncoder):
    """Times to the microsecond: Django's own encoder cuts them to milliseconds, and two revisions may lie closer."""

    def default(self, o: Any) -> Any:
        return o.isoformat() if isinstance(o, datetime) else super().default(o)


def _migrations() -> list[str]:
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())


def _check(manifest: dict[str, Any]) -> None:
    if manifest.get("format") != FORMAT:
        raise BackupError(f"the backup has format {manifest.get('format')!r}, this version reads {FORMAT}")
    known = {f"{app}.{name}" for app, name in MigrationLoader(connection).disk_migrations}
    if unknown := sorted(set(manifest["migrations"]) - known):
        raise BackupError(f"the backup is of a newer version (it has {unknown[-1]}): upgrade this site first")
    if known - set(_migrations()):
        raise BackupError("this base lacks tables of this version: run manage.py migrate first")
    people = get_user_model().objects.exists()
    if (
        people or Document.objects.exclude(digest=F("shipped_digest")).exists()
    ):  # what ships alone comes again by itself
        kept = "people" if people else "pages that were written here"
        cure = "restore into an empty one, or empty this one for good with manage.py flush"
        raise BackupError(f"this base already holds {kept}: {cure}")


def _read(archive: zipfile.ZipFile, lost: set[str]) -> Kept:
    names = [name for name in archive.namelist() if name.startswith(FILES) and not name.endswith("/")]
    written: list[str] = []
    try:
        with transaction.atomic():
            for model in reversed(backed_up()):  # what a fresh site writes by itself, as its own first events
                model._default_manager.all().delete()
            with archive.open(ROWS) as member:
                rows = sum(1 for _ in _load(io.TextIOWrapper(member, "utf-8")))
            _restart_counters()
            for document in Document.objects.iterator():
                index.put(document)
            known = set(Attachment.objects.values_list("file", flat=True))
            for name in names:
                if (own := name.removeprefix(FILES)) not in known:
                    raise BackupError(f"the backup holds a file that no page has: {own}")
                default_storage.delete(own)  # left over from a site that was here before
                with archive.open(name) as source:
                    written.append(default_storage.save(own, io.BytesIO(source.read())))
            if missing := known - set(written) - lost:
                raise BackupError(f"the backup lacks a file: {sorted(missing)[0]}")
    except BaseException:
        for name in written:
            default_storage.delete(name)
        raise
    return Kept(rows, len(names))


def _load(lines: io.TextIOWrapper) -> Iterator[None]:
    for row in serializers.deserialize("jsonl", lines, handle_forward_references=True):
        row.save()
        yield


def _restart_counters() -> None:
    """PostgreSQL counts its keys apart from the rows that were put in with theirs."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), backed_up()):
            cursor.execute(statement)
