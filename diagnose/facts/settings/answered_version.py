"""A version as a person answers it: its number, with or without a name before it, or the day of a checkout."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace

from diagnose.knowledge.records import Framework
from diagnose.types import Fact

VERSIONS = ("framework_version", "engine_version", "torch_version")
_NUMBER = r"\d{1,4}(?:\.\d{1,4})*(?:\.x)?(?:[.-]?(?:post|rc|dev|alpha|beta|a|b)\.?\d{1,8})*(?:\+[\w.]{1,40})?"
_WHOLE = re.compile(rf"v?({_NUMBER})", re.I | re.A)
# behind a name: “verl 0.4.1”, “trl==0.19.1”, where one number alone would be anything
_NAMED = re.compile(rf"[A-Za-z][\w.\[\]-]{{0,40}}\s*(?:==|>=|~=|=|@|:)?\s*v?(?=\d+\.)({_NUMBER})", re.I | re.A)
_DAY = re.compile(r"(20[12]\d)[-/.](\d{1,2})[-/.](\d{1,2})(?![.\d])(?:[ T].{0,30})?", re.A)
# git log -1 --format=%cd
_OF_GIT = re.compile(r"[A-Za-z]{3}\s+([A-Za-z]{3})\s+(\d{1,2})\s+[\d:]{7,8}\s+(20[12]\d)(?:\s+[+-]\d{4})?", re.A)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def version_in(id: str, words: str) -> str:
    """The version's number, or the day as 2025-03-20 where the trainer is asked for; raises ``ValueError`` with the cure."""
    day = _day(words) if id == "framework_version" else None
    if day is not None:
        return day.isoformat()
    found = _WHOLE.fullmatch(words) or _NAMED.fullmatch(words)
    if found is None:
        example = "0.8.5, or the day of the checkout, as 2025-03-20" if id == "framework_version" else "0.8.5"
        raise ValueError(f"“{words[:40]}” is no version. Write its number, as {example}, or leave the question open.")
    return found[1].lower().replace(".x", "")


def of_day(answered: Fact, framework: Framework | None) -> Fact:
    """The newest release up to the day that was answered, or the first one; the answer itself where it is a number."""
    day = _day(str(answered.value))
    releases = dict(framework.releases) if framework is not None else {}
    if day is None or not releases:
        return answered
    until = [release for release, of in releases.items() if of <= day]
    return replace(answered, value=until[-1] if until else next(iter(releases)), written=day.isoformat())


def _day(words: str) -> datetime.date | None:
    if found := _DAY.fullmatch(words):
        numbers = (int(found[1]), int(found[2]), int(found[3]))
    elif (found := _OF_GIT.fullmatch(words)) and found[1].lower() in _MONTHS:
        numbers = (int(found[3]), _MONTHS.index(found[1].lower()) + 1, int(found[2]))
    else:
        return None
    try:
        return datetime.date(*numbers)
    except ValueError:
        return None
