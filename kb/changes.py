"""What changed lately, for those who may see it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.feedgenerator import Atom1Feed

from kb import notes
from kb.models import Document, Revision
from kb.models.document import visible

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

PAGE = 50
_NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
FEED = 30


def of(user: AbstractBaseUser | AnonymousUser, kind: str = "") -> QuerySet[Revision]:
    """Revisions of published pages, newest first, without their texts; not by their times, which are of several servers' clocks."""
    rows = Revision.objects.filter(visible(user, "document__"), document__state=Document.PUBLISHED)
    if kind:
        rows = rows.filter(document__kind=kind)
    return rows.select_related("document").defer("text", "document__text", "document__html").order_by("-pk")


def page(user: AbstractBaseUser | AnonymousUser, kind: str, number: str | None) -> Page[Revision]:
    return Paginator(of(user, kind), PAGE).get_page(number)


def feed(request: HttpRequest, user: AbstractBaseUser | AnonymousUser, kind: str) -> str:
    """The same as Atom (RFC 4287)."""
    words = dict(Document.KINDS).get(kind)
    atom = Atom1Feed(
        title=f"Headroom: changed {words}s" if words else "Headroom: changes",
        link=request.build_absolute_uri("/"),
        description="What changed lately",
        feed_url=request.build_absolute_uri(),
    )
    for revision in of(user, kind)[:FEED]:
        address = request.build_absolute_uri(notes.address(revision.document))
        atom.add_item(
            title=_in_xml(revision.title),
            link=address,
            description=_in_xml(revision.why) or ("written" if revision.number == 1 else "changed"),
            author_name=_in_xml(revision.author_name) or "Headroom",
            pubdate=revision.made,
            updateddate=revision.made,
            unique_id=f"{address}#{revision.number}",
        )
    return atom.writeString("utf-8")


def _in_xml(words: str) -> str:
    """Without the control characters that XML has no way to write: one of them would take the whole feed away."""
    return _NOT_XML.sub("", words)
