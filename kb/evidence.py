"""How often a fix worked, failed or was only suggested: one mark is one case, and the count stands beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from diagnose.knowledge.records import Case, Fix

MOST_MARKS = 12  # beyond that the words alone


@dataclass(frozen=True)
class Mark:
    """``symbol`` is w, f or s; ``drawn`` has one item for each mark that is drawn."""

    symbol: str
    words: str
    drawn: range


@dataclass(frozen=True)
class Outcome:
    """One fix of one case."""

    case: Case
    fix: Fix
    marks: tuple[Mark, ...]


def marks(worked: int, failed: int, suggested: int) -> tuple[Mark, ...]:
    """What stands under a title; empty when nobody told of a fix."""
    many = worked + failed + suggested > MOST_MARKS
    counted = (("w", worked, "worked"), ("f", failed, "did not"), ("s", suggested, "only suggested"))
    return tuple(
        Mark(symbol, f"{count} {words}", range(0 if many else count)) for symbol, count, words in counted if count
    )


def marks_of(*fixes: Fix) -> tuple[Mark, ...]:
    """The marks of some fixes of one case."""
    told = [fix.worked for fix in fixes]
    return marks(told.count(True), told.count(False), told.count(None))


def outcomes(name: str, cases: Iterable[Case]) -> tuple[Outcome, ...]:
    """Every case that tells of a lever or of an advisory: those where it worked first, then failed, then suggested."""
    found = [
        Outcome(case, fix, marks_of(fix)) for case in cases for fix in case.fixes if name in (fix.lever, fix.advisory)
    ]
    return tuple(sorted(found, key=lambda outcome: ("wfs".index(outcome.marks[0].symbol), outcome.case.slug)))


def counted(found: Iterable[Outcome]) -> tuple[Mark, ...]:
    """The marks of many outcomes together; a case counts once for each outcome that it tells."""
    seen = {(outcome.case.slug, outcome.fix.worked) for outcome in found}
    told = [worked for _, worked in seen]
    return marks(told.count(True), told.count(False), told.count(None))
