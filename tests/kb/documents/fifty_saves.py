"""What ``test_concurrent_saves`` runs in processes of their own: ``python fifty_saves.py start``, or ``save FIRST LAST``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import Thread

PEOPLE, SAME_LINE = 50, 10  # the last ten all change the first line
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


def main() -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    import django

    django.setup()
    if sys.argv[1] == "start":
        return start()
    threads = [Thread(target=save, args=[number]) for number in range(int(sys.argv[2]), int(sys.argv[3]))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
