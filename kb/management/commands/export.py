"""``manage.py export FOLDER``: every published document as one Markdown file, for a folder under git."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kb import audit, exchange


class Command(BaseCommand):
    help = "Write every published case, guide and note as kind/slug.md. Drafts and the trash are skipped and named."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)

    def handle(self, *, folder: Path, **options: Any) -> None:
        try:
            done = exchange.export(folder)
        except OSError as misfit:
            raise CommandError(f"{folder} cannot be written: {misfit.strerror}") from None
        audit.note(audit.COMMAND_LINE, "exported", f"{len(done.written)} documents", f"to {folder.name}")
        self.stdout.write(f"{len(done.written)} documents written to {folder}")
        if done.skipped:
            self.stdout.write(f"skipped: {', '.join(done.skipped)}")
        if done.strays:
            self.stdout.write(f"stand in the folder and are no published document: {', '.join(done.strays)}")
