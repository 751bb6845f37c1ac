"""``manage.py backup FILE``: everything that people wrote, in one zip."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kb import audit, backup
from kb.models import Attachment


class Command(BaseCommand):
    help = "Write documents, histories, people, comments, files and the audit log to one zip. It holds secrets: keep it safe."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="where to, as headroom.zip; a file of that name is replaced")

    def handle(self, *, file: Path, **options: Any) -> None:
        try:
            kept = backup.write(file)
        except OSError as misfit:
            raise CommandError(f"{file} cannot be written: {misfit.strerror or misfit}") from None
        audit.note(audit.COMMAND_LINE, "backed up", file.name, f"{kept.rows} rows, {kept.files} files")
        self.stdout.write(f"{kept.rows} rows and {kept.files} files in {file}")
        pages = Attachment.objects.filter(file__in=kept.lost).select_related("document")
        if names := sorted(f"{row.document.kind}/{row.document.slug}: {row.name}" for row in pages):
            self.stderr.write(f"Not in it, because they could not be read in the state folder: {', '.join(names)}")
