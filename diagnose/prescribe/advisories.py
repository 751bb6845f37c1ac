"""Which advisories hold for a run: its version lies in the range, its condition holds, its symptom is there.

Where the version is not known the advisory is no advice, but something to check. What has the version that mends it, or the
setting that does as much, is never told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diagnose.conditions import holds, unknown, version
from diagnose.knowledge.advisory import Advisory
from diagnose.prescribe.outcome import Move
from diagnose.prescribe.situation import Situation
from diagnose.types import Check, Fact, Paste

MOST_CHECKS = 3
# Before a release come its development builds and candidates: whether one of them has a change of that release nobody knows.
_BEFORE_RELEASE = ("dev", "rc", "a0", "b0")

# what rules an advisory out where the text shows it, and is no question where it does not
_IF_SHOWN = {"wakes_in_parts"}


def advised(advisories: Sequence[Advisory], situation: Situation) -> list[Move]:
    """The moves that are to the point, one for each lever and package."""
    moves: dict[tuple[str, str], list[tuple[Advisory, Fact, bool]]] = {}
    for advisory, applies in _matching(advisories, situation):
        at = situation.facts.versions.get(advisory.package)
        if at is not None and affected(advisory, situation):
            moves.setdefault((advisory.lever, advisory.package), []).append((advisory, at, applies is None))
    return [_together(found) for found in moves.values()]


def to_check(advisories: Sequence[Advisory], situation: Situation) -> tuple[Check, ...]:
    """What surely fits but for the version, which nothing tells: at most three, the first in order first."""
    if situation.values.get("trains") is False and not situation.facts.certain("rollout_engine"):
        return ()  # what is known of versions is known of trainings and of engines
    found = [
        advisory
        for advisory, applies in _matching(advisories, situation)
        if applies and affected(advisory, situation) is None
    ]
    found.sort(key=lambda advisory: (advisory.order, advisory.slug))
    return tuple(Check(one, situation.facts.versions.get(one.package)) for one in found[:MOST_CHECKS])


def affected(advisory: Advisory, situation: Situation) -> bool | None:
    """Whether the run's version has the fault; None where neither version nor day tells.

    A trainer that froze another's code cannot move to the other's version.
    """
    facts = situation.facts
    if facts.fork is not None and facts.framework is not None and advisory.package == facts.framework.slug:
        return False
    at = facts.versions.get(advisory.package)
    if advisory.fixed and not advisory.fixed.version:
        return _before_day(advisory, situation, at)
    if at is None or at.origin == "assumed":
        return None
    since, until = advisory.introduced.version, advisory.fixed.version if advisory.fixed else ""
    if at.origin == "derived" and since:
        return None if not until or _before(str(at.value), until) else False
    return _both(not _before(str(at.value), since) if since else True, _before(str(at.value), until) if until else True)


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


def _matching(advisories: Sequence[Advisory], situation: Situation) -> Iterator[tuple[Advisory, bool | None]]:
    """Those whose condition holds, or is open by the phase alone, whose symptom is there and whose setting is not made."""
    hits = {hit.signature.slug for hit in situation.facts.hits}
    for advisory in advisories:
        if advisory.signatures and not hits.intersection(advisory.signatures):
            continue
        when = {id: test for id, test in advisory.when.items() if id in situation.values or id not in _IF_SHOWN}
        applies = holds(when, situation.values)
        if applies is False or set(unknown(when, situation.values)) - {"phase"}:
            continue
        if not _is_set(advisory, situation.paste):
            yield advisory, applies


def _is_set(advisory: Advisory, paste: Paste) -> bool:
    """Whether the paste has the setting that does as much as the move, by its key or as the end of a nested one."""
    flag = advisory.flag
    return flag is not None and any(
        f".{setting.key}".endswith(f".{flag.key}") and setting.value.lower() == flag.value.lower()
        for setting in paste.settings
    )


def _together(found: list[tuple[Advisory, Fact, bool]]) -> Move:
    """The moves of one package as one, those that surely hold first."""
    found.sort(key=lambda one: (one[2], one[0].order, one[0].slug))
    sure = [one for one in found if not one[2]] or found
    return Move(tuple(advisory for advisory, _, _ in sure), sure[0][1], sure[0][2])
