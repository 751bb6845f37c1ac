"""Signing in, members, invitations, tokens, the audit log."""

from django.urls import path

from kb.views import setup

urlpatterns = [path("setup/<str:token>/", setup.setup, name="setup")]
