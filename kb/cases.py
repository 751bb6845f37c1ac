"""The cases that one viewer may see, as the frozen records that matching and advice read."""

from __future__ import annotations

import logging
from threading import Lock
from typing import TYPE_CHECKING

from diagnose.knowledge.loader import parse
from diagnose.knowledge.records import Case as Record
from kb.models import Document, DocumentQuerySet, edition, may_read

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

log = logging.getLogger(__name__)
_CHUNK = 500
_records: dict[tuple[str, str], Record | None] = {}
_kept: tuple[int | None, tuple[Record, ...]] = (None, ())  # published cases are the same for everybody who may read
_lock = Lock()


def visible(user: AbstractBaseUser | AnonymousUser | None) -> DocumentQuerySet:
    """The published cases that ``user`` may see; None is somebody who is not signed in."""
    return Document.objects.visible_to(user).published().cases()


def cases_for(user: AbstractBaseUser | AnonymousUser | None) -> tuple[Record, ...]:
    """The cases that ``user`` may see. One query of one row a call; the texts are read again only when a document changed."""
    global _kept
    if not may_read(user):
        return ()
    present = edition()
    if _kept[0] != present:
        with _lock:
            if _kept[0] != present:
                _kept = (present, _read(visible(user)))
    return _kept[1]


def record_of(case: Document) -> Record | None:
    """The record in a case's text; None, with a line in the log, where this version no longer reads an old text."""
    key = (case.slug, case.digest)
    if key not in _records:
        record, problems = parse(case.kind, case.slug, case.text)
        for problem in problems:
            log.error("case left out: %s", problem)
        _records[key] = record if isinstance(record, Record) else None
    return _records[key]


def _read(rows: DocumentQuerySet) -> tuple[Record, ...]:
    """Reads the texts that this process has not read yet, and forgets those that no longer stand."""
    keys = [(slug, digest) for slug, digest in rows.order_by("slug").values_list("slug", "digest")]
    unread = [slug for slug, digest in keys if (slug, digest) not in _records]
    for start in range(0, len(unread), _CHUNK):
        for case in rows.filter(slug__in=unread[start : start + _CHUNK]).only("slug", "digest", "text"):
            record_of(case)
    if len(_records) > 2 * len(keys) + _CHUNK:
        for key in set(_records) - set(keys):
            del _records[key]
    return tuple(record for key in keys if (record := _records.get(key)))
