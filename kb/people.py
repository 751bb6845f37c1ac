"""Changes of who may do what. Nobody gives more than they have, and the last admin stays."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from kb import audit
from kb.models import Member, Role, Token, role_of

_ADMINS = Q(is_superuser=True) | Q(member__role=Role.ADMIN)


class Refused(Exception):
    """The change is not made; the message says why."""


def members() -> QuerySet[User]:
    """Everybody with a role, those who may not sign in any more last."""
    return (
        User.objects.select_related("member")
        .filter(Q(is_superuser=True) | Q(member__isnull=False))
        .order_by("-is_active", "username")
    )


def join(user: User, role: Role, detail: str) -> None:
    """Makes a member of a new account."""
    Member.objects.create(user=user, role=role)
    audit.note(user, "joined", user.get_username(), f"{role.label}, {detail}")


@transaction.atomic
def change_role(by: User, user: User, role: Role) -> None:
    """Gives ``user`` another role; raises ``Refused``."""
    user = _locked(user)
    before = role_of(user)
    if role == before:
        return
    if role < Role.READER:
        raise Refused("Deactivate somebody who may do nothing any more.")
    if max(role, before) > role_of(by):
        raise Refused(f"A role above your own, {role_of(by).label}, is not yours to give or to take.")
    _keep_one_admin(user, stays=role == Role.ADMIN)
    user.is_superuser = user.is_staff = False
    user.save(update_fields=["is_superuser", "is_staff"])
    Member.objects.update_or_create(user=user, defaults={"role": role})
    audit.note(by, "changed a role", user.get_username(), f"{before.label} → {role.label}")


@transaction.atomic
def set_active(by: User, user: User, active: bool) -> None:
    """Lets somebody in again, or out for good: their sessions end and their tokens are gone. Raises ``Refused``."""
    user = _locked(user)
    if user.is_active == active:
        return
    user.is_active = True  # a role is asked of those who may sign in
    if role_of(user) > role_of(by):
        raise Refused(f"Somebody above your own role, {role_of(by).label}, is not yours to change.")
    _keep_one_admin(user, stays=active)
    user.is_active = active
    user.save(update_fields=["is_active"])
    if not active:
        Token.objects.filter(user=user).delete()
    audit.note(by, "activated again" if active else "deactivated", user.get_username())


def _locked(user: User) -> User:
    """The account as it is now. Locks every admin's, so that two admins cannot take each other's role at once."""
    list(User.objects.select_for_update(of=("self",)).filter(_ADMINS).order_by("pk").values_list("pk"))
    return User.objects.select_related("member").get(pk=user.pk)


def _keep_one_admin(user: User, *, stays: bool) -> None:
    others = User.objects.filter(_ADMINS, is_active=True).exclude(pk=user.pk)
    if not stays and role_of(user) == Role.ADMIN and not others.exists():
        raise Refused(f"{user.get_username()} is the last admin: make another one first.")
