"""Static files under hashed names, gathered again only when one of them, or a package that ships some, has changed."""

from __future__ import annotations

import hashlib
from pathlib import Path

from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command


def digest() -> str:
    """Changes with the name, size or time of any file that ``collectstatic`` would gather."""
    seen = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list([]):
            status = Path(storage.path(name)).stat()
            seen.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return seen.hexdigest()


def gather(root: Path) -> bool:
    """Whether anything had to be gathered into ``root``."""
    stamp, wanted = root / ".digest", digest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return False
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp.write_text(wanted)
    return True
