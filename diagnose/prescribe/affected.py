"""Whether the run's version has a fault: by the version that is named, by those that the text leaves possible, or by the day."""

from __future__ import annotations

import datetime

from diagnose.conditions import version
from diagnose.knowledge.advisory import Advisory, Point
from diagnose.prescribe.situation import Situation
from diagnose.types import Fact

# Before a release come its development builds and candidates: whether one of them has a change of that release nobody knows.
_BEFORE_RELEASE = ("dev", "rc", "a0", "b0")


def affected(advisory: Advisory, situation: Situation) -> bool | None:
    """Whether the run's version has the fault; None where neither version nor day tells.

    A trainer that froze another's code cannot move to the other's version. A version that only follows from what the text
    holds is a range: the fault is there where all of it has the fault, and not where none of it has. A package of which nothing
    tells the version is older than what came out after the last day of the log.
    """
    facts = situation.facts
    mine = facts.framework is not None and advisory.package == facts.framework.slug
    if facts.fork is not None and mine:
        return False
    at = facts.versions.get(advisory.package)
    if advisory.fixed and not advisory.fixed.version:
        return _before_day(advisory, situation, at)
    if at is not None and at.origin not in ("assumed", "derived"):
        return within(advisory, str(at.value))
    oldest, newer = situation.trainer_versions if mine else ("", "")
    # a trainer is often run from its repository, where a change stands before it is released
    day = None if mine else situation.day
    return _both(_began(advisory.introduced, oldest, newer, day), _lasts(advisory.fixed, oldest, newer, day))


def within(advisory: Advisory, at: str) -> bool | None:
    """Whether one version has the fault."""
    since, until = advisory.introduced.version, advisory.fixed.version if advisory.fixed else ""
    return _both(not _before(at, since) if since else True, _before(at, until) if until else True)


def _began(since: Point, oldest: str, newer: str, day: datetime.date | None) -> bool | None:
    """Whether every version that the run may have came after the fault, or none of them."""
    if not since.version or (oldest and version(oldest) >= version(since.version)):
        return True
    early = since.date and day and day < since.date
    return False if early or (newer and version(newer) <= version(since.version)) else None


def _lasts(until: Point | None, oldest: str, newer: str, day: datetime.date | None) -> bool | None:
    """Whether every version that the run may have came before what mends the fault, or none of them."""
    if until is None:
        return True
    if oldest and version(oldest) >= version(until.version):
        return False
    early = until.date and day and day < until.date
    return True if early or (newer and version(newer) <= version(until.version)) else None


def _before_day(advisory: Advisory, situation: Situation, at: Fact | None) -> bool | None:
    """A fault that no release mends yet: a run of an earlier day has it, and so has a release of an earlier day."""
    day = advisory.fixed.date if advisory.fixed else None
    if day is None:
        return None
    if situation.day and situation.day < day:
        return True
    framework = situation.facts.framework
    released = framework.releases.get(str(at.value)) if at and at.certain and framework else None
    return True if released and framework and framework.slug == advisory.package and released < day else None


def _before(at: str, bound: str) -> bool | None:
    """Whether one version is older than another; None for a build between the two."""
    number, limit = version(at), version(bound)
    if number == limit and any(word in at for word in _BEFORE_RELEASE) and "post" not in at:
        return None
    return number < limit


def _both(one: bool | None, other: bool | None) -> bool | None:
    return False if one is False or other is False else None if one is None or other is None else True
