"""How people get in: what django-allauth asks us while somebody signs in, out, or comes from the single sign-on."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.authentication import get_authentication_records
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.base.forms import AuthenticateForm
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from kb import audit, links, mail, people
from kb.models import Role

INVITATION = "invitation"  # session key: the token of an invitation that somebody accepts through the single sign-on
_MEANS = {"password": "password", "mfa": "code", "socialaccount": "single sign-on", "password_reset": "mail"}
_MISMATCH = "Name and password do not go together."  # the same whether the name is known or not
_REFUSALS = {
    "username_password_mismatch": _MISMATCH,
    "email_password_mismatch": _MISMATCH,
    "too_many_login_attempts": "Too many failed attempts. Wait five minutes, then try again.",
    "incorrect_password": "That is not the password.",
}
_CHANGES = {
    "account/email/password_changed": "changed a password",
    "account/email/password_set": "changed a password",
    "account/email/password_reset": "changed a password",
    "mfa/email/totp_activated": "turned codes on",
    "mfa/email/totp_deactivated": "turned codes off",
    "mfa/email/recovery_codes_generated": "made recovery codes",
    "socialaccount/email/account_connected": "connected single sign-on",
    "socialaccount/email/account_disconnected": "disconnected single sign-on",
}


class Backend(AuthenticationBackend):  # type: ignore[misc]
    """Fetches the member together with the user, so that asking for the role costs no query."""

    def get_user(self, user_id: int) -> User | None:
        user = get_user_model().objects.select_related("member").filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Local accounts: no open registration, redirects within the site alone, every step in the audit log."""

    error_messages = {**DefaultAccountAdapter.error_messages, **_REFUSALS}

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def is_safe_url(self, url: str) -> bool:
        request = self.request
        return url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("kb:me")

    def post_login(self, request: HttpRequest, user: Any, **kwargs: Any) -> HttpResponse:
        means = [_MEANS.get(record["method"], record["method"]) for record in get_authentication_records(request, user)]
        audit.note(user, "signed in", detail=", ".join(means))
        return cast(HttpResponse, super().post_login(request, user, **kwargs))

    def logout(self, request: HttpRequest) -> None:
        audit.note(request.user, "signed out")
        super().logout(request)

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Notes whose account it was. Another word is not kept: people type passwords into the wrong field."""
        typed = credentials.get("username") or credentials.get("email") or ""
        user = get_user_model().objects.filter(Q(username__iexact=typed) | Q(email__iexact=typed)).first()
        name = user.get_username() if typed and user else "a name that is not known here"
        audit.note("", "sign-in failed", name, "password")

    def send_notification_mail(
        self, template_prefix: str, user: Any, context: dict[str, Any] | None = None, email: str | None = None
    ) -> None:
        """Called after every change of how somebody signs in, so the audit log learns of them here."""
        if template_prefix in _CHANGES:
            audit.note(user, _CHANGES[template_prefix], user.get_username())
        if address := email or user.email:
            super().send_notification_mail(template_prefix, user, context, address)

    def get_reset_password_from_key_url(self, key: str) -> str:
        return mail.site(self.request) + urlsplit(str(super().get_reset_password_from_key_url(key))).path

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        about = {"request": self.request, "email": email, "site": mail.site(self.request)}
        mail.send(self.render_mail(template_prefix, email, {**about, **context}))


class CodeForm(AuthenticateForm):  # type: ignore[misc]
    """The second step of signing in; a wrong code is noted."""

    def clean_code(self) -> str:
        try:
            return cast(str, super().clean_code())
        except ValidationError:
            audit.note("", "sign-in failed", self.user.get_username(), "code")
            raise


class SignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Single sign-on: a new account for a verified address, never a way into an account that is here already."""

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        if sociallogin.is_existing or sociallogin.state.get("process") == "connect":
            return
        verified = [address.email for address in sociallogin.email_addresses if address.verified]
        if not verified:
            why = "unverified"
        elif _email_is_taken(verified[0]):
            why = "taken"
        elif not self.is_open_for_signup(request, sociallogin):
            why = "closed"
        else:
            return
        audit.note("", "sign-in failed", detail=f"single sign-on, {why}")
        raise ImmediateHttpResponse(render(request, "socialaccount/refused.html", {"why": why}, status=403))

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return (
            Role[settings.SIGN_ON_ROLE] > Role.NOBODY
            or links.invitation(request.session.get(INVITATION, "")) is not None
        )

    @transaction.atomic
    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        user: User = super().save_user(request, sociallogin, form)
        link = links.invitation(request.session.pop(INVITATION, ""))
        role = Role(link.role) if link and links.use(link) else Role[settings.SIGN_ON_ROLE]
        if role == Role.NOBODY:
            raise ImmediateHttpResponse(render(request, "socialaccount/refused.html", {"why": "closed"}, status=403))
        people.join(user, role, "single sign-on")
        return user

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        return reverse("kb:me")

    def on_authentication_error(self, request: HttpRequest, provider: Any, *args: Any, **kwargs: Any) -> None:
        if (kwargs.get("extra_context") or {}).get("state"):  # without one nobody had begun here: not worth a line
            audit.note("", "sign-in failed", detail="single sign-on, the provider did not confirm")


def _email_is_taken(email: str) -> bool:
    return get_user_model().objects.filter(Q(email__iexact=email) | Q(emailaddress__email__iexact=email)).exists()
