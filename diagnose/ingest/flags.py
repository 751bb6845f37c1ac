"""Flags with their values: in a list of quoted words, in a command, or named in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

_QUOTED = re.compile(
    r"[\"']--(?P<key>[A-Za-z][\w.-]{0,80})(?:=(?P<joined>[^\"'\n]{1,400})[\"']"
    r"|[\"'](?:[ \t]*,[ \t]*[\"'](?!--)(?P<value>[^\"'\n]{0,400})[\"']|(?=[ \t]*(?:,|\]|$))))",
    re.A,
)
# all of a script's list, or all that the script was called with: more arguments, and no value of the flag before it
_REST = r"\"?\$(?:@|\{(?:@|\w{1,80}\[[@*]\])\})"
_FLAG = re.compile(
    r"(?<![\w-])--(?P<key>[A-Za-z][\w.-]{0,80})(?:[=]|[ \t]{1,3}|(?=[,;，；]|$))"
    rf"(?P<value>(?=--[A-Za-z]|{_REST}|[,;，；]|$)|\"[^\"\n]{{1,200}}\"|'[^'\n]{{1,200}}'|(?!--)[^\s,;)`'\"，。；、）（(:：]{{1,200}})",
    re.A,
)
_USAGE = re.compile(r"\s*usage:", re.I)  # what a program may be given
_JOINS = frozenset("and or with plus but then is was to in for on from as when also flag flags".split())  # noqa: SIM905


def flags(words: str) -> Iterable[tuple[str, str, str, int, int]]:
    """Key, value as written, shape and the value's columns of each flag in a line."""
    for found in _QUOTED.finditer(words):
        group = "joined" if found["joined"] else "value"
        if found[group] is None:
            yield found["key"], "true", "flag", found.end("key"), found.end("key")
        else:
            yield found["key"], found[group], "flag", found.start(group), found.end(group)
    named = [] if _USAGE.match(words) else list(_FLAG.finditer(words))
    for at, found in enumerate(named):
        value = found["value"]
        if not value:  # a flag follows at once, or the last of several ends the line or the clause
            followed = found.end() < len(words) and words[found.end()] not in ",;，；"
            if followed or _in_a_row(words, named[max(at - 1, 0) : at + 1]):
                yield found["key"], "true", "flag", found.end("key"), found.end("key")
            continue
        sure = (
            words[found.end("key")] == "="
            or words[found.start() - 1 : found.start()] == words[found.end() : found.end() + 1] == "`"
            or _in_a_row(words, named[max(at - 1, 0) : at + 2])
            and value.lower() not in _JOINS
        )
        if value[0] not in "-=" and value.isascii() and _is_value(value, sure):
            yield (
                found["key"],
                value.rstrip("."),
                "flag",
                found.start("value"),
                found.end("value") - value.endswith("."),
            )


def _in_a_row(words: str, flags: Sequence[re.Match[str]]) -> bool:
    """Whether two flags stand side by side, as in a command that a sentence leads to."""
    return any(not words[one.end() : other.start()].strip() for one, other in pairwise(flags))


def _is_value(value: str, sure: bool) -> bool:
    """In a sentence the word behind a flag is its value when it looks like none of a sentence."""
    return sure or not value.isalpha() or value.lower() in ("true", "false", "none", "auto") or value.isupper()
