"""Pages as data: what ``.json`` gives of a document, a record of the catalogue, and their lists. docs/data.md describes it."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from diagnose.knowledge.record import Record
from kb.models import Document

SCHEMA = 1  # raised when a field changes its meaning or goes away; new fields may come at any time
FOLDERS = {"errors": "signatures"}  # the word in an address, where it is not the folder's name


def of_document(document: Document, record: Record | None, request: HttpRequest) -> dict[str, Any]:
    """A case, a guide or a note with its typed fields; ``estimate`` as it is stored, in GiB."""
    estimates = {
        row.moment: row.result for row in document.estimates.all() if row.status == "done" and row.is_of(document)
    }
    return {
        **_about(document.kind, document.slug, request),
        "title": document.title,
        "state": document.state,
        "revision": document.revision,
        "reviewed_revision": document.reviewed or None,
        "updated": document.updated.isoformat(),
        **(_fields(record) if record else {"body": document.text}),
        **({"estimates": estimates} if estimates else {}),
    }


def of_record(kind: str, record: Record, request: HttpRequest) -> dict[str, Any]:
    """A record of the catalogue with every field that its file sets; of a framework in several files also what its parts are."""
    told = {**_about(kind, record.slug, request), **_fields(record)}
    if parts := getattr(record, "parts", ())[1:]:
        told["parts"] = [_part(part, request) for part in parts]
    return told


def _part(part: Record, request: HttpRequest) -> dict[str, Any]:
    """A part of a framework: its rows stand among the framework's, its own text behind ``url``."""
    address = request.build_absolute_uri(reverse("kb:part", args=part.slug.split("/")))
    return {"title": part.title, "reviewed": plain(part.reviewed), "sources": plain(part.sources), "url": address}


def line(kind: str, slug: str, title: str, request: HttpRequest) -> dict[str, Any]:
    """One item of a list."""
    return {"title": title, **_about(kind, slug, request)}


def _about(kind: str, slug: str, request: HttpRequest) -> dict[str, Any]:
    address = request.build_absolute_uri(reverse("kb:data", args=[kind, slug]))
    return {"schema_version": SCHEMA, "type": kind, "slug": slug, "url": address}


def _fields(record: Record) -> dict[str, Any]:
    """What the record sets; a field at its default is left out, since absent means unknown."""
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        default = field.default_factory() if callable(field.default_factory) else field.default
        if field.name != "slug" and field.metadata.get("written", True) and value != default:
            fields[field.name] = plain(value)
    return fields


def plain(value: Any) -> Any:
    """A field's value in the words of JSON: patterns as their text, dates as ISO 8601."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        set_fields = ((f, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {f.name: plain(found) for f, found in set_fields if found != f.default and found not in ((), {}, None)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, re.Pattern):
        return value.pattern
    return value.isoformat() if isinstance(value, datetime.date) else value
