"""What stands beside every document's page: its state, its writers, what a reviewer confirmed, and what this viewer may do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kb import history
from kb.models import Document
from kb.permissions import may

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser


def tools(document: Document, user: AbstractBaseUser | AnonymousUser) -> dict[str, Any]:
    """What ``kb/_tools.html`` needs; one query."""
    return {
        "document": document,
        "writers": history.writers(document),
        "can": {
            action: may(user, action, document)
            for action in ("edit", "publish", "unpublish", "review", "rename", "delete", "restore", "purge")
        },
        "changed_since": bool(document.reviewed) and document.reviewed < document.revision,
    }
