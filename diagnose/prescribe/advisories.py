"""Which advisories hold for a run: its version lies in the range, its condition holds, its symptom is there.

Where the version is not known the advisory is no advice, but something to check. What has the version that mends it, or the
setting that does as much, is never told.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from diagnose.conditions import holds, unknown
from diagnose.knowledge.advisory import Advisory
from diagnose.prescribe.affected import affected, within
from diagnose.prescribe.outcome import Move
from diagnose.prescribe.situation import Situation
from diagnose.types import Check, Fact, Paste

MOST_CHECKS = 3
# The age from which on a release is hardly run any more: our choice, not counted from cases.
_A_YEAR = datetime.timedelta(days=365)

# what rules an advisory out where the text shows it, and is no question where it does not
_IF_SHOWN = {"wakes_in_parts", "expandable_segments", "engine_pinned", "engine_shares_weights", "text_data"}


def advised(advisories: Sequence[Advisory], situation: Situation) -> list[Move]:
    """The moves that are to the point, one for each lever and package."""
    moves: dict[tuple[str, str], list[tuple[Advisory, Fact, bool]]] = {}
    for advisory, applies in _matching(advisories, situation):
        if affected(advisory, situation):
            at = situation.facts.versions.get(advisory.package) or _by_day(situation)
            moves.setdefault((advisory.lever, advisory.package), []).append((advisory, at, applies is None))
    return [_together(found) for found in moves.values()]


def _by_day(situation: Situation) -> Fact:
    """What stands for a version that nothing tells, where the day of the log says that it is an old one."""
    return Fact("", "", "derived", why=f"by the log’s day, {situation.day}")


def to_check(advisories: Sequence[Advisory], situation: Situation) -> tuple[Check, ...]:
    """What surely fits but for the version, which nothing tells: at most three.

    The likely come first, then the first in order, then what was mended last.
    """
    if situation.values.get("trains") is False and not situation.facts.certain("rollout_engine"):
        return ()  # what is known of versions is known of trainings and of engines
    found = [
        advisory
        for advisory, applies in _matching(advisories, situation)
        if applies and affected(advisory, situation) is None and not _outdated(advisory, situation)
    ]
    found.sort(key=lambda advisory: (_unlikely(advisory, situation), advisory.order, -_mended(advisory), advisory.slug))
    return tuple(Check(one, situation.facts.versions.get(one.package)) for one in found[:MOST_CHECKS])


def _unlikely(advisory: Advisory, situation: Situation) -> bool:
    """Whether the release that stands for what the text leaves possible does not have the fault."""
    at = situation.facts.versions.get(advisory.package)
    return at is not None and bool(advisory.target.version) and within(advisory, str(at.value)) is False


def _outdated(advisory: Advisory, situation: Situation) -> bool:
    """Whether it was mended before the trainer's own release came out, or a year before the run: hardly anybody runs that still."""
    mended, framework = advisory.target.date, situation.facts.framework
    if mended is None or advisory.fixed is None or framework is None:
        return False
    at = situation.facts.versions.get(framework.slug)
    oldest = str(at.value) if at and at.certain else situation.trainer_versions[0]
    released = framework.releases.get(oldest)
    late = situation.day is not None and mended < situation.day - _A_YEAR
    return late or (released is not None and mended < released)


def _mended(advisory: Advisory) -> int:
    """The day of the release that mends it as a number: most runs are of packages that are not old."""
    day = advisory.target.date
    return day.toordinal() if day else 0


def _matching(advisories: Sequence[Advisory], situation: Situation) -> Iterator[tuple[Advisory, bool | None]]:
    """Those whose condition holds, or is open by the phase alone, whose symptom is there and whose setting is not made."""
    hits, model = {hit.signature.slug for hit in situation.facts.hits}, situation.facts.model
    for advisory in advisories:
        if advisory.signatures and not hits.intersection(advisory.signatures):
            continue
        if advisory.families and (model is None or model.family not in advisory.families):
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
