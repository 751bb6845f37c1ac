"""``manage.py diagnose``: the batch interface (``--jsonl``), one diagnosis as JSON, or text for people."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from diagnose.__main__ import chunks
from diagnose.ingest import read_stream
from diagnose.knowledge import Knowledge, current
from diagnose.pipeline import diagnose
from diagnose.report import to_json, to_text
from diagnose.types import Paste


class Command(BaseCommand):
    help = "Diagnose a paste: a file, standard input, or with --jsonl one JSON object a line in and out."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", help="the log or script to read; standard input without it")
        parser.add_argument(
            "--jsonl", action="store_true", help="one JSON object a line in, one out, in the same order"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object out")

    def handle(self, *args: Any, **options: Any) -> None:
        knowledge = current()
        if options["jsonl"]:
            for line in sys.stdin.buffer:
                if line.strip():
                    print(json.dumps(answer(line, knowledge), ensure_ascii=False), flush=True)
            return
        paste = (
            read_stream(chunks(sys.stdin.buffer)) if options["file"] is None else self.read_file(Path(options["file"]))
        )
        diagnosis = diagnose(paste, {}, knowledge, tuple(knowledge.cases.values()))
        told = json.dumps(to_json(diagnosis), ensure_ascii=False, indent=1) if options["json"] else to_text(diagnosis)
        try:
            print(told, flush=True)
        except BrokenPipeError:  # as under `| head`: the reader has had enough
            sys.stdout = None

    def read_file(self, path: Path) -> Paste:
        try:
            with path.open("rb") as stream:
                return read_stream(chunks(stream))
        except OSError as refused:
            raise CommandError(f"{path}: {refused.strerror}. Give a file that can be read.") from refused


def answer(line: bytes, knowledge: Knowledge) -> dict[str, Any]:
    """The answer to one line of the batch interface; a line that cannot be diagnosed gives its id and the error."""
    row: Any = None
    try:
        row = json.loads(line)
        answers = {id: value for id, value in (row.get("answers") or {}).items() if value is not None}
        cases = tuple(knowledge.cases.values())
        diagnosis = diagnose(row.get("paste") or "", answers, knowledge, cases, row.get("exclude") or ())
        return {"id": row.get("id"), **to_json(diagnosis)}
    except Exception as error:  # a promise of the interface: the run goes on whatever one line holds
        return {"id": row.get("id") if isinstance(row, dict) else None, "error": f"{type(error).__name__}: {error}"}
