"""``manage.py load_content``: the shipped cases and guides into the database, then the worker is woken to estimate the cases."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from diagnose.knowledge import CONTENT, ContentError, current
from kb import content, tasks
from kb.documents import DocumentError
from kb.search import index


class Command(BaseCommand):
    help = "Load the cases and guides that ship. One that was edited in the browser is left alone and named."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--folder", type=Path, default=CONTENT, help="holds cases/ and guides/")

    def handle(self, *, folder: Path, **options: Any) -> None:
        try:
            index.put_catalogue(current())
            loaded = content.load(folder, current())
        except (ContentError, DocumentError) as misfit:
            raise CommandError(f"The content does not fit:\n{misfit}") from None
        self.stdout.write(loaded.words("Cases and guides"))
        self.stdout.flush()
        if not tasks.wake():
            self.stderr.write("No message got through to the worker: the estimates follow within ten minutes.")
