"""``manage.py load_content``: the shipped cases into the database, then the worker is woken to estimate them."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from diagnose.knowledge import CONTENT, ContentError, current
from kb import tasks
from kb.content import Loaded, load_cases
from kb.documents import DocumentError


class Command(BaseCommand):
    help = "Load the cases that ship. A case that was edited in the browser is left alone and named."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--folder", type=Path, default=CONTENT / "cases", help="where the case files are")

    def handle(self, *, folder: Path, **options: Any) -> None:
        try:
            loaded = load_cases(folder, current())
        except (ContentError, DocumentError) as misfit:
            raise CommandError(f"The content does not fit:\n{misfit}") from None
        self.stdout.write(self._words(loaded))
        self.stdout.flush()
        if not tasks.wake():
            self.stderr.write("No message got through to the worker: the estimates follow within ten minutes.")

    def _words(self, loaded: Loaded) -> str:
        words = f"Cases: {len(loaded.created)} new, {len(loaded.updated)} updated, {len(loaded.unchanged)} unchanged"
        if loaded.left_alone:
            words += f"; edited here and left alone: {', '.join(loaded.left_alone)}"
        return words
