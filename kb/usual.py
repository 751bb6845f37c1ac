"""What a framework takes for a fact that nothing sets: the newest value, and since which version it does."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.conditions import in_range, version
from diagnose.knowledge.records import Default, Framework
from diagnose.vocabulary import Value


@dataclass(frozen=True)
class Usual:
    """A value that holds whatever else is set: ``since`` it took the place of another, ``until`` it went and left none."""

    value: Value
    since: str = ""
    until: str = ""


def usual(framework: Framework, fact: str) -> Usual | None:
    """The default of the newest version, else the last one that is known; those of scripts, forks and conditions are none."""
    known = [d for d in framework.defaults if fact in d.facts and not (d.script or d.when or d.fork)]
    turns = sorted({turn for d in known for turn in (d.since, d.until) if turn}, key=version, reverse=True)
    now = _at(known, fact, None)
    if now is None:
        last = max(known, key=lambda d: version(d.until), default=None)
        return Usual(last.facts[fact], until=last.until) if last else None
    older = ((turn, _at(known, fact, before)) for turn, before in zip(turns, (*turns[1:], "0"), strict=False))
    since = next(((turn, value) for turn, value in older if value != now), ("", None))
    return Usual(now, since[0] if since[1] is not None else "")


def _at(known: list[Default], fact: str, at: str | None) -> Value | None:
    """The value in force in version ``at``: later entries outrank earlier ones."""
    return next((d.facts[fact] for d in reversed(known) if in_range(d.since, d.until, at)), None)
