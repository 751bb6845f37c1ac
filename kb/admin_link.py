"""The one-time link that makes an admin: signed, good for a day, gone when used."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.core.signing import BadSignature, TimestampSigner

from kb.models import AdminLink

LIFETIME = timedelta(hours=24)
_SIGNER = TimestampSigner(salt="kb.admin_link")


def make() -> str:
    """A new token; those made before it stop working."""
    token = _SIGNER.sign(secrets.token_urlsafe(24))
    AdminLink.objects.all().delete()
    AdminLink.objects.create(digest=_digest(token))
    return token


def holds(token: str) -> bool:
    """Whether the token is ours, younger than a day and not used."""
    try:
        _SIGNER.unsign(token, max_age=LIFETIME)
    except BadSignature:
        return False
    return AdminLink.objects.filter(digest=_digest(token)).exists()


def use(token: str) -> bool:
    """Spends the token; False when somebody else was first or it does not hold."""
    return holds(token) and AdminLink.objects.filter(digest=_digest(token)).delete()[0] == 1


def admin_exists() -> bool:
    """Whether anybody can sign in as an admin."""
    return get_user_model().objects.filter(is_superuser=True, is_active=True).exists()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
