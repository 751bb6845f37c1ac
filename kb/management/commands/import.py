"""``manage.py import FOLDER|ZIP``: documents from files, as ``manage.py export`` writes them."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from diagnose.knowledge import current
from kb import audit, exchange, tasks


class Command(BaseCommand):
    help = "Take in cases, guides and notes from a folder or a zip. One that differs from what stands here is left alone and named."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", type=Path)
        parser.add_argument("--update", action="store_true", help="make a new revision of each one that differs")

    def handle(self, *, source: Path, update: bool, **options: Any) -> None:
        try:
            done = exchange.take_in(source, current(), update, audit.COMMAND_LINE)
        except exchange.Unfit as misfit:
            audit.note(audit.COMMAND_LINE, "imported", source.name, misfit.done.words("Documents"))
            raise CommandError(f"Not everything fits; what fits was taken in:\n{misfit}") from None
        except exchange.UNREADABLE as misfit:
            raise CommandError(f"{source} cannot be read: {misfit}") from None
        words = done.words("Documents")
        audit.note(audit.COMMAND_LINE, "imported", source.name, words)
        self.stdout.write(words)
        if done.skipped:
            self.stdout.write(f"skipped: {', '.join(done.skipped)}")
        if not tasks.wake():
            self.stderr.write("No message got through to the worker: the estimates follow within ten minutes.")
