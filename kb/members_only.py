"""A site for its members alone: every page asks to sign in, but for the few ways in."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from kb import sent
from kb.models import Role, role_of
from kb.tokens import refuse

# A fragment takes the place that it was asked for; one that would have been the whole page, or none of it, stands above the page.
_ABOVE = {"HX-Retarget": "#main > .wrap", "HX-Reswap": "afterbegin show:#main:top"}
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
    """What somebody gets who is nobody here: the page to sign in, or words for a program.

    Whoever sent something was signed in when the page was made: it comes back with a way to sign in beside it, and nothing is lost.
    """
    if request.user.is_authenticated:
        raise PermissionDenied
    context: dict[str, Any] = {"sign_in": f"{reverse('account_login')}?{urlencode({'next': sent.written_on(request)})}"}
    if request.headers.get("HX-Request"):
        response = render(request, "kb/_ended.html", context, status=401)
        above = _ABOVE if request.headers.get("HX-Target", "main") == "main" else {}
        for name, value in {"HX-Reselect": ".ended", **above}.items():
            response.headers[name] = value
        return response
    if request.path.endswith(_FOR_PROGRAMS):
        return refuse("This needs a member. Send Authorization: Bearer with a token for read.")
    if request.method != "POST":
        return redirect_to_login(request.get_full_path() if request.method in ("GET", "HEAD") else "/")
    context |= {"again": sent.again(request), "words": sent.WORDS}
    response = render(request, "kb/ended.html", context, status=401)
    response.headers["Cache-Control"] = sent.BACK_ONLY
    return response


def signed_in(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A view of one's own things."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return view(request, *args, **kwargs) if request.user.is_authenticated else ask_to_sign_in(request)

    return checked
