"""Tokens: what a program shows in place of a person. Only the digest is kept; the token itself is shown once, when it is made."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AnonymousUser
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from kb.models import Role, Token, role_of

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SCOPES = {
    "read": "read pages, as JSON and Markdown too",
    "match": "diagnose a log against the team's cases",
    "write": "write what its owner may write",
}
LIFETIMES = {30: "30 days", 90: "90 days", 365: "a year"}
PREFIX = "headroom_"  # so that a scanner for leaked secrets can know one
_USED_ANEW = timedelta(minutes=1)  # the last use is noted at most that often

View = Callable[..., HttpResponse]


class Refused(Exception):
    """The token does not hold; ``status`` and the message say why."""

    def __init__(self, status: int, words: str) -> None:
        self.status = status
        super().__init__(words)


def make(user: User, name: str, scopes: list[str], days: int) -> str:
    """A new token of ``user``; only this once in the clear."""
    token = PREFIX + secrets.token_urlsafe(32)
    expires = timezone.now() + timedelta(days=days)
    Token.objects.create(user=user, name=name, digest=_digest(token), scopes=scopes, expires=expires)
    return token


def user_of(request: HttpRequest, scope: str) -> User | None:
    """Whose token the request shows; None when it shows none. Raises ``Refused`` when it does not hold or lacks the scope."""
    kind, _, shown = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "bearer":
        return None
    token = Token.objects.select_related("user__member").filter(digest=_digest(shown.strip())).first()
    now = timezone.now()
    if token is None or token.expires <= now or role_of(token.user) < Role.READER:
        raise Refused(401, "The token is not known here, has expired, or was revoked. Make another under /me/tokens/.")
    if scope not in token.scopes:
        raise Refused(403, f"The token is good for {', '.join(token.scopes)}; this needs {scope}.")
    if token.used is None or now - token.used > _USED_ANEW:
        unused = Q(used=None) | Q(used__lt=now - _USED_ANEW)
        Token.objects.filter(unused, pk=token.pk).update(used=now)
    return token.user


def for_programs(scope: str, *, cookies: bool = False) -> Callable[[View], View]:
    """A view that programs call: a token decides who asks; with ``cookies`` a person who is signed in may as well.

    Where the site is for members only, everybody else is answered 401, in words. ``request.user`` is whoever was found.
    Only for views that change nothing, or that are given no ``cookies``.
    """
    if scope not in SCOPES:
        raise ValueError(f"“{scope}” is no word of kb.tokens.SCOPES")

    def decorate(view: View) -> View:
        @login_not_required
        @wraps(view)
        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                user = user_of(request, scope)
            except Refused as refused:
                return refuse(str(refused), refused.status)
            if user is not None:
                request.user = user
            elif not cookies:
                request.user = AnonymousUser()
            if settings.MEMBERS_ONLY and role_of(request.user) < Role.READER:
                return refuse(f"This site is for its members. Send Authorization: Bearer with a token for {scope}.")
            return view(request, *args, **kwargs)

        return checked

    return decorate


def refuse(words: str, status: int = 401) -> HttpResponse:
    """A refusal that a terminal can show."""
    answer = HttpResponse(f"{words}\n", status=status, content_type="text/plain; charset=utf-8")
    answer.headers["Cache-Control"] = "no-store"
    if status == 401:
        answer.headers["WWW-Authenticate"] = 'Bearer realm="Headroom"'
    return answer


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
