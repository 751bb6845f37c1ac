"""``manage.py admin_link``: prints a one-time link that makes an admin."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.urls import reverse

from kb import links


class Command(BaseCommand):
    help = "Print a link that makes one admin. It works once, for 24 hours, and replaces the link before it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--if-none", action="store_true", help="only when nobody is an admin yet")
        parser.add_argument("--site", default=settings.SITE_URL, help="the address that the site answers at")

    def handle(self, *, if_none: bool, site: str, **options: Any) -> None:
        if if_none and links.admin_exists():
            return
        link = site.rstrip("/") + reverse("kb:setup", args=[links.make_admin_link()])
        self.stdout.write(f"Become an admin (once, within 24 hours): {link}")
        self.stdout.flush()
