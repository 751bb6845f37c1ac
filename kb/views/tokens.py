"""One's own tokens."""

from __future__ import annotations

from typing import cast

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kb import audit
from kb import tokens as kept
from kb.models import Token
from kb.people_forms import TokenForm
from kb.permissions import needs


@never_cache
@require_safe
@needs("token")
def tokens(request: HttpRequest) -> HttpResponse:
    rows = Token.objects.filter(user=cast(User, request.user)).order_by("-made")
    return render(request, "kb/tokens.html", {"rows": rows, "now": timezone.now()})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("token")
@reauthentication_required  # type: ignore[untyped-decorator]
def token_new(request: HttpRequest) -> HttpResponse:
    """Makes a token and shows it, this once."""
    user, token = cast(User, request.user), ""
    form = TokenForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        token = kept.make(user, given["name"], given["scopes"], given["days"])
        audit.note(user, "made a token", given["name"], f"{', '.join(given['scopes'])}, {given['days']} days")
    return render(request, "kb/token_new.html", {"form": form, "token": token})


@require_POST
@needs("token")
def token_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(Token, pk=pk, user=cast(User, request.user))
    token.delete()
    audit.note(token.user, "revoked a token", token.name)
    messages.success(request, f"{token.name} does not hold any more.")
    return redirect("kb:tokens")
