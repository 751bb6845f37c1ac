"""The sentences of a move to a named version, written once for the page, the terminal and the issue block."""

from __future__ import annotations

from collections.abc import Sequence

from diagnose.knowledge.advisory import Advisory, Point
from diagnose.types import Check, Fact
from diagnose.vocabulary import PHASES


def range_words(advisory: Advisory) -> str:
    """In which versions the fault stands: ``from 0.7 on and before 0.8.3``."""
    since, until = advisory.introduced.name if advisory.introduced.version else "", advisory.fixed
    parts = (f"from {since} on" if since else "", f"before {until.name}" if until else "")
    return " and ".join(part for part in parts if part)


def heading(advisory: Advisory, target: Point) -> str:
    """What to do, as a title: ``Move to vllm 0.8.3 or newer``."""
    if advisory.fixed is None:
        return f"Go back to {advisory.package} {target.name}"
    return f"Move to {advisory.package} {target.name} or newer"


def why(advisories: Sequence[Advisory], at: Fact, undecided: bool = False) -> str:
    """What the run's version has, and what says which version it is; ``undecided``: only where it dies in the phase of the fault."""
    first, *others = advisories
    line = f", line {at.span.line}" if at.span else f", {at.why}" if at.why else ""
    name = first.package if at.origin in ("assumed", "derived") else f"{first.package} {at.value}"
    phases = f" if it dies in the {_phases(first)}" if undecided else ""
    told = f"{name}{line}, is affected{phases} ({range_words(first)}): {_small(first.title)}."
    more = "; ".join(f"{_small(other.title)} ({range_words(other)})" for other in others)
    return f"{told} {_or_flag(first)}".rstrip() + (f" Also: {more}." if more else "")


def check_words(check: Check) -> str:
    """What to look up, since no line tells the version: no fact, but what holds if it is one of these."""
    advisory = check.advisory
    likely = f" It is likely {check.at.value}: {check.at.why}." if check.at and check.at.why else ""
    way = heading(advisory, advisory.target)
    return f"If {advisory.package} is {range_words(advisory)}: {_small(way)}.{likely} {_or_flag(advisory)}".rstrip()


def find_out(advisory: Advisory) -> str:
    """The command that prints the version."""
    return advisory.find_out or f"pip show {advisory.package}"


def _phases(advisory: Advisory) -> str:
    *others, last = [PHASES[phase] for phase in advisory.phases]
    return f"{', '.join(others)} or {last}" if others else last


def _or_flag(advisory: Advisory) -> str:
    return f"Or set {advisory.flag.key}={advisory.flag.value}." if advisory.flag else ""


def _small(title: str) -> str:
    """A title inside a sentence: the first letter small, but for names that are written with a capital throughout."""
    first = title.split(" ", 1)[0]
    return title if any(letter.isupper() for letter in first[1:]) else title[:1].lower() + title[1:]
