"""The page behind a one-time link: become a member, or be let in once."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from kb import audit, links, people
from kb.accounts import INVITATION
from kb.models import OneTimeLink, Role
from kb.people_forms import JoinForm


@login_not_required
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def setup(request: HttpRequest, token: str) -> HttpResponse:
    """Takes a name and a password and signs the new member in; 404 when the link does not hold."""
    link = links.find(token)
    if link is None:
        return _spent(request)
    if link.user is not None:
        return _let_in(request, link, link.user)
    form = JoinForm(request.POST or None, initial={"email": link.email})
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            if not links.use(link):
                return _spent(request)
            user = form.save()
            people.join(user, Role(link.role), f"invited by {link.made_by or audit.COMMAND_LINE}")
        return _signed_in(request, user, "wizard:start")
    if settings.SIGN_ON:
        request.session[INVITATION] = token
    return render(request, "kb/setup.html", {"form": form, "role": Role(link.role)})


def _let_in(request: HttpRequest, link: OneTimeLink, user: User) -> HttpResponse:
    """A click, not a visit, spends the link: chats and mail programs visit addresses by themselves."""
    if request.method == "GET":
        return render(request, "kb/way_in.html", {"who": user})
    with transaction.atomic():
        if not links.use(link):
            return _spent(request)
        audit.note(user, "signed in", detail="link from the command line")
    return _signed_in(request, user, "kb:me")


def _signed_in(request: HttpRequest, user: User, then: str) -> HttpResponse:
    login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
    return redirect(then)


def _spent(request: HttpRequest) -> HttpResponse:
    return render(request, "kb/setup_spent.html", status=404)
