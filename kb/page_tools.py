"""What stands beside and below every document's page: its state, writers, what a reviewer confirmed, what this viewer may do, remarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kb import around, history
from kb.models import Document
from kb.permissions import may

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser


def tools(document: Document, user: AbstractBaseUser | AnonymousUser) -> dict[str, Any]:
    """What ``kb/_tools.html`` and ``kb/_around.html`` need."""
    stands = around.beside(document)
    return {
        **around.context(document, user, stands),
        "document": document,
        "writers": history.writers(document) if stands.writers else (),
        "can": {
            action: may(user, action, document)
            for action in ("edit", "publish", "unpublish", "review", "rename", "delete", "restore", "purge")
        },
        "changed_since": bool(document.reviewed) and document.reviewed < document.revision,
    }
