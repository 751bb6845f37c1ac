"""What ``test_concurrent_saves`` runs outside of its own process: ``python fifty_saves.py start``, then ``save``."""

from __future__ import annotations

import os
import sys
from multiprocessing import get_context
from pathlib import Path
from threading import Thread

PEOPLE, SAME_LINE = 50, 10  # the last ten all change the first line
PROCESSES = 5
WORD = "word-of-{:02d}"


def body() -> str:
    return "\n\n".join(f"Paragraph {number}." for number in range(PEOPLE + 1))


def edit(text: str, number: int) -> str:
    """What one person writes: their own paragraph, or the first one together with nine others."""
    line = f"Paragraph {0 if number >= PEOPLE - SAME_LINE else number + 1}.\n"
    return text.replace(line, f"{line[:-1]} {WORD.format(number)}\n")


def start() -> None:
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from tests.kb.conftest import created, document

    call_command("migrate", verbosity=0)
    created("busy", document(body=body()))
    for number in range(PEOPLE):
        User.objects.create(username=f"person-{number:02d}")


def save(number: int) -> None:
    from django.contrib.auth.models import User
    from django.db import connection

    from diagnose.knowledge import current
    from kb import saving
    from kb.models import Document

    person, row = User.objects.get(username=f"person-{number:02d}"), Document.objects.get(slug="busy")
    first = row.revisions.get(number=1)  # everybody opened the editor before anybody saved
    try:
        saving.save(row, edit(first.text, number), 1, person, WORD.format(number), current())
    except saving.Conflict:
        pass
    finally:
        connection.close()


def save_of(people: range) -> None:
    """The saves of one process, a thread for each person."""
    threads = [Thread(target=save, args=[number]) for number in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def save_all() -> None:
    """All saves at once. What every process needs is read before they part, as gunicorn does it: they all begin in the same moment."""
    from diagnose.knowledge import current
    from kb import saving  # noqa: F401

    current()
    share = PEOPLE // PROCESSES
    parted = get_context("fork")
    saving_now = [
        parted.Process(target=save_of, args=[range(first, first + share)]) for first in range(0, PEOPLE, share)
    ]
    for process in saving_now:
        process.start()
    for process in saving_now:
        process.join()
    sys.exit(any(process.exitcode for process in saving_now))


def main() -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    import django

    django.setup()
    {"start": start, "save": save_all}[sys.argv[1]]()


if __name__ == "__main__":
    main()
