"""What the database holds: documents and their history, people, what stands around a page, stored estimates, the search index."""

from kb.models.around import Attachment, Comment, Notice, Watch
from kb.models.document import Document, DocumentQuerySet, Draft, OldSlug, Revision, may_read
from kb.models.edition import Edition, edition, whole_edition
from kb.models.estimate import CaseEstimate, Refresh
from kb.models.people import Event, Member, OneTimeLink, Role, Token, role_of
from kb.models.search import Entry

__all__ = [
    "Attachment",
    "CaseEstimate",
    "Comment",
    "Document",
    "DocumentQuerySet",
    "Draft",
    "Edition",
    "Entry",
    "Event",
    "Member",
    "Notice",
    "OldSlug",
    "OneTimeLink",
    "Refresh",
    "Revision",
    "Role",
    "Token",
    "Watch",
    "edition",
    "may_read",
    "role_of",
    "whole_edition",
]
