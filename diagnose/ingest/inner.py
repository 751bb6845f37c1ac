"""What stands inside a flag's value: ``--limit '{"video": 0}'`` and ``--limit image=2,video=0`` set ``limit.video``."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PART = re.compile(
    r"\"(?P<key>[\w-]{1,60})\"\s{0,4}:\s{0,4}(?P<value>\{|-?\d[\d.]{0,24}(?:e-?\d{1,3})?|true|false|null|\"[^\"]{0,200}\")|(?P<end>\})",
    re.I | re.A,
)
_OBJECT = re.compile(r"['\"]?\{\s{0,4}\"[^{}]{0,400}(?:\{[^{}]{0,400}\}[^{}]{0,400}){0,8}\}['\"]?", re.A)
_COUNTS = re.compile(r"['\"]?\w{1,30}=\d{1,9}(?:,\w{1,30}=\d{1,9}){0,8}['\"]?", re.A)
_COUNT = re.compile(r"(\w{1,30})=(\d{1,9})", re.A)


def inner(key: str, written: str) -> Iterator[tuple[str, int, int]]:
    """Each setting inside the value: its dotted key, and from where to where its own value stands in what is ``written``."""
    if _COUNTS.fullmatch(written):
        yield from ((f"{key}.{one[1]}", one.start(2), one.end(2)) for one in _COUNT.finditer(written))
    if not _OBJECT.fullmatch(written):
        return
    path = [key]
    for part in _PART.finditer(written):
        if part["end"]:
            path = path[: max(1, len(path) - 1)]
        elif part["value"] == "{":
            path.append(part["key"])
        else:
            yield ".".join((*path, part["key"])), part.start("value"), part.end("value")
