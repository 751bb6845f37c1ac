"""A site for its members alone: every page asks to sign in, but for the few ways in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from kb.models import Role, role_of
from kb.tokens import refuse

_FOR_PROGRAMS = (".json", ".md", ".atom", ".xml", ".zip")


class MembersOnly(LoginRequiredMiddleware):
    """Lets nobody but members past where ``MEMBERS_ONLY`` is set; views marked ``login_not_required`` are the ways in."""

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., Any], view_args: Any, view_kwargs: Any
    ) -> HttpResponse | None:
        if not settings.MEMBERS_ONLY or not getattr(view_func, "login_required", True):
            return None
        return None if role_of(request.user) >= Role.READER else ask_to_sign_in(request)

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """No cache between here and a member keeps a page for the next one."""
        if settings.MEMBERS_ONLY:
            response.headers.setdefault("Cache-Control", "private")
        return response


def ask_to_sign_in(request: HttpRequest) -> HttpResponse:
    """What somebody gets who is nobody here: the page to sign in, or its address for a fragment, or words for a program."""
    if request.user.is_authenticated:
        raise PermissionDenied
    if request.headers.get("HX-Request"):
        return HttpResponse(status=401, headers={"HX-Redirect": reverse("account_login")})
    if request.path.endswith(_FOR_PROGRAMS):
        return refuse("This needs a member. Send Authorization: Bearer with a token for read.")
    return redirect_to_login(request.get_full_path() if request.method in ("GET", "HEAD") else "/")
