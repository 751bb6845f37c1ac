"""Secrets and personal places out, first of all: numbers, module paths and the number of lines stay.

A mark stands where something was: ``‹token›``, ``‹email›``, ``‹address›``, ``‹host›``, ``‹path›``, ``‹user›``. What was
taken out is told from the marks alone, so that reading a redacted text again gives the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnose.ingest.credentials import CREDENTIALS, Rule, hide_key_blocks
from diagnose.ingest.hosts import HOSTS, hide_addresses
from diagnose.ingest.normalise import numbered
from diagnose.ingest.places import hide_paths
from diagnose.literals import Haystack
from diagnose.types import Redaction

_MARK = re.compile(r"‹(token|email|address|host|path|user)›", re.A)
_PASSES = 4  # one is enough but for texts that were made to break it
_RULES: tuple[Rule, ...] = (*CREDENTIALS, *HOSTS)


def redact(text: str) -> tuple[str, tuple[Redaction, ...]]:
    """The text with marks in place of secrets, and what stands where. Line by line the same; a second time changes nothing."""
    text = hide_key_blocks(text)
    rules = _of(Haystack(text.lower()))
    lines = text.split("\n")
    seen: dict[str, str] = {}
    for at, line in enumerate(lines):
        if line and line not in seen:
            seen[line] = _settled(line, rules)
        lines[at] = seen.get(line, "")
    text = hide_key_blocks("\n".join(lines))
    return text, marks(text)


def marks(text: str) -> tuple[Redaction, ...]:
    """What was taken out of a redacted text."""
    if "‹" not in text:
        return ()
    rows = (row for row in numbered(text.split("\n")) if "‹" in row[1])
    return tuple(Redaction(number, kind) for number, line in rows for kind in _MARK.findall(line))


def _of(lower: Haystack) -> list[Rule]:
    """The rules of which a word stands in the text."""
    return [rule for rule in _RULES if any(word in lower for word in rule[0])]


def _settled(line: str, rules: Sequence[Rule]) -> str:
    for _ in range(_PASSES):
        before, line = line, _once(line, rules)
        if line == before:
            break
    return line


def _once(line: str, rules: Sequence[Rule]) -> str:
    lower = line.lower()
    for words, pattern, replacement in rules:
        for word in words:
            if word in lower:
                line = pattern.sub(replacement, line)
                break
    return hide_paths(hide_addresses(line))
