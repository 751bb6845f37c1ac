"""What the cases say of a lever: worked, failed or only suggested; counted, never judged. Nearer cases first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from diagnose.knowledge.records import Case, Fix
from diagnose.types import CaseMatch, Evidence
from diagnose.vocabulary import POOL_OF_KIND, Value

# How near a case must be (see diagnose.match) for what happened there to move the advice here, and from where on it counts in full; our
# choice. A step in their place would let the advice turn on words that one more case makes a little less rare.
_FAR, _NEAR = 0.30, 0.45


@dataclass(frozen=True, slots=True)
class Record:
    """The evidence of one lever; ``near`` is what worked less what failed in near cases, weighed by nearness.

    ``suggested`` is the nearness of cases that only suggest it. ``values`` are the facts with which it worked in near cases.
    """

    evidence: Evidence = Evidence()
    near: float = 0.0
    suggested: float = 0.0
    values: frozenset[tuple[str, Value]] = frozenset()


def count(cases: Sequence[Case], matches: Sequence[CaseMatch], kind: str | None) -> Mapping[str, Record]:
    """By lever and by advisory, from all cases about the same memory: all are shown, near ones also weigh.

    A remedy that worked in another phase of another trainer says nothing of this run, however often it did.
    """
    kind = None if kind == "other" else kind
    nearness = {match.case.slug: weight for match in matches if (weight := _weight(match.score))}
    ordered = sorted(
        (case for case in cases if _same_memory(case, kind)),
        key=lambda case: (-nearness.get(case.slug, 0.0), case.slug),
    )
    found: dict[str, list[tuple[Case, bool | None]]] = {}
    for case in ordered:
        for lever, outcome in _outcomes(case.fixes):
            found.setdefault(lever, []).append((case, outcome))
    return {lever: _record(lever, said, nearness) for lever, said in found.items()}


def _weight(score: float) -> float:
    """What a case counts: nothing when far, its score when near, rising between."""
    return score * min(1.0, max(0.0, (score - _FAR) / (_NEAR - _FAR)))


def _outcomes(fixes: Sequence[Fix]) -> Iterator[tuple[str, bool | None]]:
    """Each lever and advisory of a case with each of its outcomes once; a suggestion counts only where nobody tried."""
    said: dict[str, set[bool | None]] = {}
    for fix in fixes:
        for name in (fix.lever, fix.advisory):
            said.setdefault(name, set()).add(fix.worked)
    said.pop("", None)
    for lever, outcomes in said.items():
        yield from ((lever, outcome) for outcome in (True, False) if outcome in outcomes)
        if outcomes == {None}:
            yield lever, None


def _record(lever: str, said: list[tuple[Case, bool | None]], nearness: Mapping[str, float]) -> Record:
    def slugs(outcome: bool | None) -> tuple[str, ...]:
        return tuple(case.slug for case, one in said if one is outcome)

    points = {True: 1, False: -1, None: 0}
    return Record(
        Evidence(slugs(True), slugs(False), slugs(None)),
        sum(nearness.get(case.slug, 0.0) * points[outcome] for case, outcome in said),
        sum(nearness.get(case.slug, 0.0) for case, outcome in said if outcome is None),
        frozenset(
            item
            for case, outcome in said
            if outcome and case.slug in nearness
            for fix in case.fixes
            if lever in (fix.lever, fix.advisory) and fix.worked
            for item in fix.facts.items()
        ),
    )


def _same_memory(case: Case, kind: str | None) -> bool:
    """Whether a case tells of the same pool; where either is not settled it may."""
    here, there = POOL_OF_KIND.get(kind or ""), POOL_OF_KIND.get(str(case.facts.get("oom_kind", "")))
    return here is None or there is None or here == there
