"""``manage.py restore FILE``: a backup into an empty site."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kb import audit, backup, tasks


class Command(BaseCommand):
    help = "Put a backup into an empty site. All of it is put in, or nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="what manage.py backup wrote")

    def handle(self, *, file: Path, **options: Any) -> None:
        try:
            kept = backup.read(file)
        except backup.BackupError as misfit:
            raise CommandError(str(misfit)) from None
        audit.note(audit.COMMAND_LINE, "restored", file.name, f"{kept.rows} rows, {kept.files} files")
        tasks.wake()
        self.stdout.write(
            f"{kept.rows} rows and {kept.files} files from {file}. Run load_content for what ships with this version."
        )
