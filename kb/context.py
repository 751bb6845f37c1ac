"""What every template may ask of whoever looks at it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from kb.models import Role, role_of
from kb.permissions import may


class _May:
    """``{% if may.edit %}``: a word of ``kb.permissions.NEEDS``."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    def __getitem__(self, action: str) -> bool:
        return may(getattr(self._request, "user", None), action)


def viewer(request: HttpRequest) -> dict[str, Any]:
    """``may``, ``is_member`` and how the site is set; nothing is asked of the database before a template does."""
    member = SimpleLazyObject(lambda: role_of(getattr(request, "user", None)) >= Role.READER)
    return {
        "may": _May(request),
        "is_member": member,
        "members_only": settings.MEMBERS_ONLY,
        "sign_on": settings.SIGN_ON_NAME,
        "has_mail": settings.HAS_MAIL,
    }
