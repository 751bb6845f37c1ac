"""The words and slugs that addresses are made of."""

from django.urls import register_converter

from kb.models import Document

CATALOGUE = ("levers", "advisories", "errors", "frameworks", "gpus", "models", "datasets", "logs")


class Written:
    """The word for a kind of document that people write."""

    regex = "|".join(kind for kind, _ in Document.KINDS)

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class Page(Written):
    """The word for a kind of page that stands for itself: every document but a note, and the catalogue."""

    regex = "|".join((Document.CASES, Document.GUIDES, *CATALOGUE))


class Slug(Written):
    """A document's slug; that of a note has two parts: ``levers/batch.micro.down``."""

    regex = "[^/]+(?:/[^/]+)?"


register_converter(Written, "written")
register_converter(Page, "page")
register_converter(Slug, "document")
