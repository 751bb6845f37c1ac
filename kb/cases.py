"""The cases that one viewer may see, as the frozen records that matching and advice read."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from django.db.models import Case as CaseExpression
from django.db.models import Count, F, Value, When

from diagnose.knowledge.loader import parse
from diagnose.knowledge.records import Case as Record
from kb.models import Document, DocumentQuerySet, edition, may_read

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

log = logging.getLogger(__name__)
WHOLE = 1000  # so many cases are kept as records; of more, those that say how a fix went, and the newest
_CHUNK, _MOST_KEPT = 500, 5000
_records: dict[tuple[str, str], Record | None] = {}
_lock = Lock()


@dataclass(frozen=True)
class Counts:
    """How many cases there are, by kind of failure and by framework."""

    total: int = 0
    kinds: Mapping[str, int] = field(default_factory=Counter)
    frameworks: Mapping[str, int] = field(default_factory=Counter)


# Published cases are the same for everybody who may read.
_kept: tuple[int | None, tuple[Record, ...]] = (None, ())
_counted: tuple[int | None, Counts] = (None, Counts())


def visible(user: AbstractBaseUser | AnonymousUser | None) -> DocumentQuerySet:
    """The published cases that ``user`` may see; None is somebody who is not signed in."""
    return Document.objects.visible_to(user).published().cases()


def cases_for(user: AbstractBaseUser | AnonymousUser | None) -> tuple[Record, ...]:
    """The cases that ``user`` may see, ``WHOLE`` at most. One query of one row a call; what changed alone is read again."""
    global _kept
    if not may_read(user):
        return ()
    present = edition()
    if _kept[0] != present:
        with _lock:
            if _kept[0] != present:
                tried = CaseExpression(When(worked=0, failed=0, then=Value(0)), default=Value(1))
                rows = visible(user).order_by(tried.desc(), F("happened").desc(nulls_last=True), "slug")
                _kept = (present, read(rows.values_list("slug", "digest")[:WHOLE]))
    return _kept[1]


def counts(user: AbstractBaseUser | AnonymousUser | None) -> Counts:
    """Of all cases that ``user`` may see; counted anew when a document changed."""
    global _counted
    if not may_read(user):
        return Counts()
    present = edition()
    if _counted[0] != present:
        rows = visible(user).order_by()
        kinds, frameworks = (
            Counter(dict(rows.values_list(column).annotate(count=Count("pk")))) for column in ("oom_kind", "framework")
        )
        _counted = (present, Counts(sum(kinds.values()), kinds, frameworks))
    return _counted[1]


def record_of(case: Document) -> Record | None:
    """The record in a case's text; None, with a line in the log, where this version no longer reads an old text."""
    key = (case.slug, case.digest)
    if key not in _records:
        record, problems = parse(case.kind, case.slug, case.text)
        for problem in problems:
            log.error("case left out: %s", problem)
        _records[key] = record if isinstance(record, Record) else None
    return _records[key]


def read(texts: Iterable[tuple[str, str]]) -> tuple[Record, ...]:
    """The records of the cases with these slugs and digests, by slug.

    Reads the texts that this process has not read yet, and forgets the longest kept of too many.
    """
    keys = sorted(texts)
    unread = [slug for slug, digest in keys if (slug, digest) not in _records]
    for start in range(0, len(unread), _CHUNK):
        wanted = Document.objects.cases().filter(slug__in=unread[start : start + _CHUNK])
        for case in wanted.only("kind", "slug", "digest", "text"):
            record_of(case)
    found = tuple(record for key in keys if (record := _records.get(key)))
    for key in list(_records)[: max(0, len(_records) - _MOST_KEPT)]:
        _records.pop(key, None)
    return found
