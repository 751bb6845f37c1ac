"""Who may do what. What may be *seen* is ``Document.objects.visible_to``; this says what may be *done* with what is seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from kb.members_only import ask_to_sign_in
from kb.models import Document, Role, role_of

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

NEEDS = {
    "comment": Role.READER,
    "watch": Role.READER,
    "token": Role.READER,
    "preview": Role.EDITOR,
    "create": Role.EDITOR,
    "edit": Role.EDITOR,
    "attach": Role.EDITOR,
    "publish": Role.EDITOR,
    "rename": Role.EDITOR,
    "unpublish": Role.REVIEWER,
    "delete": Role.REVIEWER,
    "restore": Role.REVIEWER,
    "review": Role.REVIEWER,
    "refresh": Role.REVIEWER,
    "purge": Role.ADMIN,
    "invite": Role.ADMIN,
    "members": Role.ADMIN,
    "audit": Role.ADMIN,
    "export": Role.ADMIN,
    "import": Role.ADMIN,
}
View = Callable[..., HttpResponseBase]


def may(user: AbstractBaseUser | AnonymousUser | None, action: str, document: Document | None = None) -> bool:
    """Whether ``user`` may do ``action``, a word of ``NEEDS``; with a ``document``, to that one, which they can see.

    Nobody changes what lies in the trash without fetching it back first.
    """
    role = role_of(user)
    if document is not None:
        if document.state == Document.TRASH and action not in ("restore", "purge"):
            return False
        if action == "unpublish" and (document.state != Document.PUBLISHED or document.kind == Document.NOTES):
            return False
        own = user is not None and role >= Role.EDITOR and document.author_id == user.pk
        if own and _is_its_authors(action, document):
            return True
    return role >= NEEDS[action]


def _is_its_authors(action: str, document: Document) -> bool:
    """An editor takes back what they wrote, since they go on seeing it; their own draft they throw away and fetch back."""
    if action == "unpublish":
        return True
    return action in ("delete", "restore") and Document.DRAFT in (document.state, document.state_before)


def needs(action: str) -> Callable[[View], View]:
    """A view for those who may do ``action``: a visitor is asked to sign in, a member who may not gets 403.

    What is done to one document is asked again with that document.
    """
    if action not in NEEDS:
        raise ValueError(f"“{action}” is no word of kb.permissions.NEEDS")

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if may(request.user, action):
                return view(request, *args, **kwargs)
            if request.user.is_authenticated:
                raise PermissionDenied
            return ask_to_sign_in(request)

        return checked

    return decorate
