"""Signing in and out, passwords, codes. The names are those that django-allauth looks up, so they stand without a namespace;
what is not listed here (open registration, several addresses, keys) does not exist on the site."""

from allauth.account import views as account
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as recovery
from allauth.mfa.totp import views as totp
from allauth.socialaccount import views as social
from django.urls import path, re_path

from kb.views import sign_on

urlpatterns = [
    path("sign-in/", account.login, name="account_login"),
    path("sign-in/code/", mfa.authenticate, name="mfa_authenticate"),
    path("sign-in/again/", account.reauthenticate, name="account_reauthenticate"),
    path("sign-in/again/code/", mfa.reauthenticate, name="mfa_reauthenticate"),
    path("sign-in/not-any-more/", account.account_inactive, name="account_inactive"),
    path("sign-in/by-invitation/", sign_on.closed, name="account_signup"),
    path("sign-in/by-invitation/sso/", sign_on.closed, name="socialaccount_signup"),
    path("sign-in/with/<slug:provider_id>/", sign_on.begin, name="openid_connect_login"),
    path("sign-in/with/<slug:provider_id>/back/", sign_on.back, name="openid_connect_callback"),
    path("sign-in/cancelled/", social.login_cancelled, name="socialaccount_login_cancelled"),
    path("sign-out/", account.logout, name="account_logout"),
    path("password/", account.password_reset, name="account_reset_password"),
    path("password/sent/", account.password_reset_done, name="account_reset_password_done"),
    re_path(  # one piece to django-allauth, which puts the key out of sight at once
        r"^password/new/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>[^/]+)/$",
        account.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path("password/changed/", account.password_reset_from_key_done, name="account_reset_password_from_key_done"),
    path("me/password/", account.password_change, name="account_change_password"),
    path("me/password/first/", account.password_set, name="account_set_password"),
    path("me/codes/", mfa.index, name="mfa_index"),
    path("me/codes/on/", totp.activate_totp, name="mfa_activate_totp"),
    path("me/codes/off/", totp.deactivate_totp, name="mfa_deactivate_totp"),
    path("me/codes/recovery/", recovery.view_recovery_codes, name="mfa_view_recovery_codes"),
    path("me/codes/recovery/new/", recovery.generate_recovery_codes, name="mfa_generate_recovery_codes"),
    path("me/codes/recovery/file/", recovery.download_recovery_codes, name="mfa_download_recovery_codes"),
    path("me/sso/", social.connections, name="socialaccount_connections"),
]
