"""Members and invitations, for admins."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kb import audit, links, mail, people, saving
from kb.models import OneTimeLink, Role, role_of
from kb.people_forms import ROLES, InvitationForm, RoleForm
from kb.permissions import needs


@never_cache
@require_safe
@needs("members")
def members(request: HttpRequest) -> HttpResponse:
    rows = [(user, _role_kept(user)) for user in people.members()]
    return render(request, "kb/members.html", {"rows": rows, "roles": ROLES, "open": len(links.invitations())})


def _role_kept(user: User) -> Role:
    """The role, also of somebody who may not sign in any more."""
    if user.is_superuser:
        return Role.ADMIN
    return Role(user.member.role)


@require_POST
@needs("members")
def member_role(request: HttpRequest, pk: int) -> HttpResponse:
    user, form = get_object_or_404(people.members(), pk=pk), RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, "That is no role.")
        return redirect("kb:members")
    try:
        people.change_role(cast(User, request.user), user, form.cleaned_data["role"])
    except people.Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, f"{user} is now {form.cleaned_data['role'].label}.")
    return redirect("kb:members")


@require_POST
@needs("members")
def member_active(request: HttpRequest, pk: int) -> HttpResponse:
    user, active = get_object_or_404(people.members(), pk=pk), request.POST.get("active") == "yes"
    try:
        people.set_active(cast(User, request.user), user, active)
    except people.Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, f"{user} may {'sign in again' if active else 'not sign in any more'}.")
    return redirect("kb:members")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("invite")
def invitations(request: HttpRequest) -> HttpResponse:
    """The open invitations; a new one is mailed, or shown once above the form that made it."""
    by = cast(User, request.user)
    form, link = InvitationForm(request.POST or None, most=role_of(by), initial={"role": Role.EDITOR}), ""
    if request.method == "POST" and form.is_valid():
        role, email = form.cleaned_data["role"], form.cleaned_data["email"]
        token = links.make(role, links.INVITATION_LIFETIME, made_by=by, email=email)
        audit.note(by, "invited", email, role.label)
        form, until = (
            InvitationForm(most=role_of(by), initial={"role": role}),
            timezone.now() + links.INVITATION_LIFETIME,
        )
        if mail.invite(email, token, saving.name_of(by), role.label, until):
            messages.success(request, f"Mailed to {email}.")
        else:
            link = request.build_absolute_uri(reverse("kb:join", args=[token]))
    context = {"form": form, "link": link, "days": links.INVITATION_LIFETIME.days, "rows": links.invitations()}
    return render(request, "kb/invitations.html", context)


@require_POST
@needs("invite")
def invitation_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    link = get_object_or_404(OneTimeLink, pk=pk, user=None)
    if links.use(link):
        audit.note(cast(User, request.user), "took back an invitation", link.email, Role(link.role).label)
        messages.success(request, "The invitation does not hold any more.")
    return redirect("kb:invitations")
