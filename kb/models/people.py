"""Who may do what: members with a role, the links that let people in, the tokens of programs, and what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser


class Role(models.IntegerChoices):
    """Each may do what those before it may, and more: ``kb.permissions`` says what."""

    NOBODY = 0, "not a member"
    READER = 1, "reader"
    EDITOR = 2, "editor"
    REVIEWER = 3, "reviewer"
    ADMIN = 4, "admin"


class Member(models.Model):
    """A person of the team. ``mail``: whether notices also go out by e-mail."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="member")
    role = models.PositiveSmallIntegerField(choices=Role.choices, default=Role.READER)
    mail = models.BooleanField(default=True)

    def __str__(self) -> str:
        return f"{self.user}, {Role(self.role).label}"


def role_of(user: AbstractBaseUser | AnonymousUser | None) -> Role:
    """The role of whoever asks; nobody's is ``NOBODY``. ``kb.accounts.Backend`` fetches it together with the user."""
    if user is None or not user.is_authenticated or not user.is_active:
        return Role.NOBODY
    if getattr(user, "is_superuser", False):
        return Role.ADMIN
    try:
        return Role(user.member.role)  # type: ignore[attr-defined]
    except Member.DoesNotExist:
        return Role.NOBODY


class OneTimeLink(models.Model):
    """A link that works once: an invitation to a role, or a way in for one ``user``. Only the digest of its token is kept.

    ``email`` is whom it was meant for, where the inviter said so.
    """

    digest = models.CharField(max_length=64, unique=True)
    role = models.PositiveSmallIntegerField(choices=Role.choices, default=Role.READER)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+")
    email = models.EmailField(blank=True)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    made = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()

    def __str__(self) -> str:
        return f"{Role(self.role).label}, made {self.made:%d %B %Y %H:%M}"


class Token(models.Model):
    """What a program shows in place of a person. Only the digest is kept; ``scopes`` are words of ``kb.tokens.SCOPES``."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    made = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    used = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"


class Event(models.Model):
    """One line of the audit log: sign-ins, changes of role, exports, deletions. Never changed, never holds a secret.

    ``actor`` is the name as it was; ``what`` names the thing, ``detail`` says the rest in words.
    """

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.CharField(max_length=150, blank=True)
    action = models.CharField(max_length=40, db_index=True)
    what = models.CharField(max_length=200, blank=True)
    detail = models.TextField(blank=True)

    class Meta:
        ordering = ["-at", "-pk"]
        indexes = [models.Index(fields=["what"], name="events_of_a_thing")]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.actor} {self.action} {self.what}"
