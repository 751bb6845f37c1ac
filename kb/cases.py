"""The cases that one viewer may see, as the frozen records that matching and advice read."""

from __future__ import annotations

import logging
from threading import Lock
from typing import TYPE_CHECKING

from diagnose.knowledge.loader import parse
from diagnose.knowledge.records import Case as Record
from kb.models import Document, DocumentQuerySet

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

log = logging.getLogger(__name__)
_KEPT = 4  # sets of cases that a process keeps: one for each group of viewers who see the same
_CHUNK = 500
_records: dict[tuple[str, str], Record | None] = {}
_sets: dict[str, tuple[Record, ...]] = {}
_lock = Lock()


def visible(user: AbstractBaseUser | AnonymousUser | None) -> DocumentQuerySet:
    """The published cases that ``user`` may see; None is somebody who is not signed in."""
    return Document.objects.visible_to(user).published().cases()


def cases_for(user: AbstractBaseUser | AnonymousUser | None) -> tuple[Record, ...]:
    """The cases that ``user`` may see. One short query a call; the texts are read again only when one of them moved."""
    rows = visible(user)
    digest = rows.revision_digest()
    if digest in _sets:
        return _sets[digest]
    with _lock:
        if digest not in _sets:
            if len(_sets) >= _KEPT:
                del _sets[next(iter(_sets))]
            _sets[digest] = _read(rows)
        return _sets[digest]


def record_of(case: Document) -> Record | None:
    """The record in a row's text; None, with a line in the log, where this version no longer reads an old text."""
    key = (case.slug, case.digest)
    if key not in _records:
        record, problems = parse("cases", case.slug, case.text)
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
