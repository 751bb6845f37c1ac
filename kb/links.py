"""Links that work once: an invitation to a role, or a way in for one person when no other works. Signed, short-lived, gone when used."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.core.signing import BadSignature, Signer
from django.utils import timezone

from kb.models import OneTimeLink, Role, role_of

if TYPE_CHECKING:
    from django.contrib.auth.models import User

ADMIN_LIFETIME = timedelta(hours=24)
INVITATION_LIFETIME = timedelta(days=7)
WAY_IN_LIFETIME = timedelta(minutes=15)
_SIGNER = Signer(salt="kb.links")


def make(
    role: Role,
    lifetime: timedelta,
    *,
    made_by: User | None = None,
    email: str = "",
    user: User | None = None,
) -> str:
    """A new token: an invitation to ``role``, or a way in for ``user``."""
    token = _SIGNER.sign(secrets.token_urlsafe(24))
    OneTimeLink.objects.filter(expires__lt=timezone.now()).delete()
    OneTimeLink.objects.create(
        digest=_digest(token), role=role, user=user, email=email, made_by=made_by, expires=timezone.now() + lifetime
    )
    return token


def make_admin_link() -> str:
    """A token that makes one admin; those made from the command line before it stop working."""
    OneTimeLink.objects.filter(role=Role.ADMIN, made_by=None, user=None).delete()
    return make(Role.ADMIN, ADMIN_LIFETIME)


def find(token: str) -> OneTimeLink | None:
    """The link of a token that is ours, not used and not expired, and that its maker could still make."""
    try:
        _SIGNER.unsign(token)
    except BadSignature:
        return None
    link = OneTimeLink.objects.select_related("made_by__member", "user").filter(digest=_digest(token)).first()
    return link if link and _holds(link) else None


def invitation(token: str) -> OneTimeLink | None:
    """The same, when it makes a new member and is no way in for a member."""
    link = find(token)
    return link if link and link.user is None else None


def invitations() -> list[OneTimeLink]:
    """The open ones, the newest first."""
    links = OneTimeLink.objects.select_related("made_by__member").filter(user=None).order_by("-made")
    return [link for link in links if _holds(link)]


def _holds(link: OneTimeLink) -> bool:
    """Links from the command line hold by themselves; a member's only while that member is an admin of that rank."""
    if link.expires <= timezone.now() or (link.user is not None and not link.user.is_active):
        return False
    return link.made_by is None or role_of(link.made_by) >= max(Role.ADMIN, link.role)


def use(link: OneTimeLink) -> bool:
    """Spends the link; False when somebody else was first."""
    return OneTimeLink.objects.filter(pk=link.pk).delete()[0] == 1


def admin_exists() -> bool:
    """Whether anybody can sign in as an admin."""
    users = get_user_model().objects.filter(is_active=True)
    return users.filter(is_superuser=True).exists() or users.filter(member__role=Role.ADMIN).exists()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
