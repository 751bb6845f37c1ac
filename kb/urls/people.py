"""One's own page, members, invitations, tokens, the audit log, documents in and out."""

from django.urls import path

from kb.views import audit, exchange, me, people, setup, tokens

urlpatterns = [
    path("setup/<str:token>/", setup.setup, name="setup"),
    path("join/<str:token>/", setup.setup, name="join"),
    path("way-in/<str:token>/", setup.setup, name="way_in"),
    path("me/", me.me, name="me"),
    path("me/e-mail/", me.email, name="email"),
    path("me/tokens/", tokens.tokens, name="tokens"),
    path("me/tokens/new/", tokens.token_new, name="token_new"),
    path("me/tokens/<int:pk>/revoke/", tokens.token_revoke, name="token_revoke"),
    path("members/", people.members, name="members"),
    path("members/<int:pk>/role/", people.member_role, name="member_role"),
    path("members/<int:pk>/active/", people.member_active, name="member_active"),
    path("members/invitations/", people.invitations, name="invitations"),
    path("members/invitations/<int:pk>/revoke/", people.invitation_revoke, name="invitation_revoke"),
    path("exchange/", exchange.page, name="exchange"),
    path("exchange/documents.zip", exchange.download, name="export"),
    path("audit/", audit.audit, name="audit"),
]
