"""The page for oneself."""

from __future__ import annotations

from typing import cast

from allauth.account.decorators import reauthentication_required
from allauth.account.models import EmailAddress
from allauth.mfa.utils import is_mfa_enabled
from allauth.socialaccount.models import SocialAccount
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from kb import audit
from kb.members_only import signed_in
from kb.models import Member, role_of
from kb.people_forms import EmailForm, NoticesForm


@never_cache
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def me(request: HttpRequest) -> HttpResponse:
    """What one is here, what one may do, and how one signs in; sending it sets the notices."""
    user = cast(User, request.user)
    member = Member.objects.filter(user=user).first()
    form = NoticesForm(request.POST or None, instance=member) if member else None
    if request.method == "POST" and form and form.is_valid():
        form.save()
        messages.success(request, "Kept.")
        return redirect("kb:me")
    context = {
        "form": form,
        "role": role_of(user),
        "codes": is_mfa_enabled(user),
        "tokens": user.tokens.count(),
        "connected": SocialAccount.objects.filter(user=user).exists(),
    }
    return render(request, "kb/me.html", context)


@never_cache
@signed_in
@reauthentication_required  # type: ignore[untyped-decorator]
@require_http_methods(["GET", "HEAD", "POST"])
def email(request: HttpRequest) -> HttpResponse:
    """Another address. Asks for the password first: whoever holds the address can have the password reset."""
    user = cast(User, request.user)
    form = EmailForm(request.POST or None, instance=user)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            form.save()
            EmailAddress.objects.filter(user=user).exclude(email__iexact=user.email).delete()
            audit.note(user, "changed an e-mail address", user.get_username())
        messages.success(request, "The address is changed.")
        return redirect("kb:me")
    return render(request, "kb/email.html", {"form": form})
