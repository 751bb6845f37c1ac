"""``manage.py sign_in_link NAME``: a way in for a member when no other works."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.urls import reverse

from kb import audit, links
from kb.models import Role, role_of


class Command(BaseCommand):
    help = "Print a link that signs one member in, once, within 15 minutes, without password, code or single sign-on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the name that the member signs in with")
        parser.add_argument("--site", default=settings.SITE_URL, help="the address that the site answers at")

    @transaction.atomic
    def handle(self, *, name: str, site: str, **options: Any) -> None:
        users = get_user_model().objects
        user = users.filter(username=name).first() or users.filter(username__iexact=name).first()
        if user is None:
            raise CommandError(f"Nobody here is called “{name}”. “manage.py admin_link” makes a new admin.")
        if not user.is_active:
            raise CommandError(f"{user} was deactivated: an admin must let them in again first, see /members/.")
        token = links.make(role_of(user) or Role.READER, links.WAY_IN_LIFETIME, user=user)
        audit.note(audit.COMMAND_LINE, "made a sign-in link", user.get_username())
        self.stdout.write(
            f"Sign in as {user} (once, within 15 minutes): {site.rstrip('/')}{reverse('kb:way_in', args=[token])}"
        )
