"""The numbers of a list that stands in a sentence: “1. micro batch 2. offload 3. …” gives no micro batch of 2."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from diagnose.types import Line, Paste, Setting

_ITEM = re.compile(r"(?<![\w.])(?P<open>[(（])?(?P<number>\d{1,2})(?:[.、)）]|(?<=\d)．)(?=\s*[^\d\s.,，)）])", re.A)
# a list begins a line, or stands behind a mark or a word that announces it
_ANNOUNCES = re.compile(r"(?:^|[:：,，;；。、(（“\"]|[过了下]|\b(?:tried|tips|steps|did))\s*$", re.I | re.A)


def without_numbers(line: Line) -> Line:
    """The line with commas for the numbers of such a list, of two items or more."""
    items = list(_ITEM.finditer(line.words))
    firsts = [at for at, found in enumerate(items) if found["number"] == "1" and _begins(line.words, found)]
    if not firsts:
        return line
    listed: list[re.Match[str]] = []
    for found in items[firsts[0] :]:
        if int(found["number"]) == len(listed) + 1:
            listed.append(found)
    words = line.words
    for found in listed if len(listed) > 1 else ():
        words = words[: found.start()] + ",".ljust(len(found[0])) + words[found.end() :]
    return line if words == line.words else replace(line, words=words)


def without_items(paste: Paste, said: Sequence[Line], speech: Sequence[Line]) -> Paste:
    """The paste without the settings whose value is the number of an item, which ``speech`` lacks and ``said`` has."""
    changed = {line.number: line for line, now in zip(said, speech, strict=True) if line is not now}
    if not changed:
        return paste
    kept = (one for one in paste.settings if not (line := changed.get(one.span.line)) or not _is_item(one, line))
    return replace(paste, settings=tuple(kept))


def _is_item(setting: Setting, line: Line) -> bool:
    end = setting.span.end - line.offset
    return any(found.start("number") < end <= found.end() for found in _ITEM.finditer(line.words))


def _begins(words: str, found: re.Match[str]) -> bool:
    return found["open"] is not None or bool(_ANNOUNCES.search(words[: found.start()]))
