"""From what failed to what to change: every lever tried on the estimate, what is on or tried taken out, the rest put in order.

A lever is a change to facts and its saving is estimate(before) − estimate(after) in the failing phase of the failing pool.
Evidence is counted from cases. What is on, what was tried in vain and what the run's version cannot do is never advised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from diagnose.estimate import turning_length
from diagnose.facts.failing.kind import cause_open
from diagnose.facts.settings.written import number
from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Advisory, Case, Lever, LeverRank
from diagnose.prescribe import already, refuse
from diagnose.prescribe.advisories import advised, to_check
from diagnose.prescribe.ahead import ahead
from diagnose.prescribe.applies import applies, is_guess
from diagnose.prescribe.evidence import Record, count
from diagnose.prescribe.measure import measure
from diagnose.prescribe.of_phase import of_phase, of_the_actor, speaks_too_low
from diagnose.prescribe.order import HARDWARE, Candidate, in_order, rank_of
from diagnose.prescribe.outcome import Move, Refusal, Trial
from diagnose.prescribe.patch import patch
from diagnose.prescribe.situation import LEAST_GAIN, NOT_A_PEAK, Situation
from diagnose.prescribe.together import together
from diagnose.prescribe.trial import least, smallest, try_lever
from diagnose.prescribe.tried_images import tries_as_many
from diagnose.prescribe.why import why
from diagnose.prescribe.writing import Written
from diagnose.types import (
    LESS,
    MORE,
    Advice,
    CaseMatch,
    Change,
    Fact,
    NotAdvised,
    Prescription,
    Span,
)
from diagnose.vocabulary import Pool
from diagnose.words import advisory

__all__ = ["prescribe"]

MOST = 8
# A range of lengths costs as much as ten estimates; it is told for the advice that is read first.
RANGED = 2
_POOLS: tuple[Pool, ...] = ("gpu", "host")
_NO_RECORD = Record()


def prescribe(
    situation: Situation,
    knowledge: Knowledge,
    cases: Sequence[Case],
    matches: Sequence[CaseMatch],
    advisories: Sequence[Advisory] = (),
) -> Advice:
    """What to change, best first, at most eight, and all that is said beside it."""
    records = count(cases, matches, situation.kind)
    judged = [
        one
        for failing in _failing_pools(situation)
        for one in _all(replace(situation, pool=failing), knowledge, advisories, records)
    ]
    candidates = [one for one in judged if isinstance(one, Candidate) and not _idle(one)]
    refusals = [one for one in judged if isinstance(one, NotAdvised)]
    chosen = _first_of_each(in_order(candidates))[:MOST]
    said = {candidate.lever.slug for candidate in chosen}
    left = [refused for refused in refusals if refused.lever.slug not in said]
    prescriptions = tuple(_prescription(candidate, ranged=i < RANGED) for i, candidate in enumerate(chosen))
    levers = knowledge.levers.values()
    return Advice(
        prescriptions,
        together(situation, levers, [*candidates, *refusals]),
        refuse.shown(left, situation, records),
        to_check(advisories, situation),
        ahead(situation, chosen[0].trial if chosen else None, levers),
    )


def _failing_pools(situation: Situation) -> tuple[Pool | None, ...]:
    """The failing pool; where nothing settles it, every pool that the estimate sees run out; else the cards of a run that is told."""
    if situation.pool is not None or situation.kind in NOT_A_PEAK:
        return (situation.pool,)
    estimated = ((name, situation.before.pool(name)) for name in _POOLS)
    out = tuple(name for name, pool in estimated if pool and pool.verdict() == "out")
    said = situation.kind == "other" and not cause_open(situation.facts)
    if not out and said and situation.facts.configured and not situation.fits_cards:
        return ("gpu",)  # by far the likelier in a training, and what is said of it is said as that
    return out or (None,)


def _all(
    situation: Situation, knowledge: Knowledge, advisories: Sequence[Advisory], records: Mapping[str, Record]
) -> Iterator[Candidate | NotAdvised | None]:
    """Every lever on one pool; where advisories surely name the version of a move, they stand for its lever."""
    moves = advised(advisories, situation)
    yield from (_moved(move, situation, knowledge, records) for move in moves)
    named = {move.first.lever for move in moves if not move.undecided}
    for lever in knowledge.levers.values():
        if lever.slug not in named and not lever.only_advised:
            yield _judge(of_phase(lever, situation), situation, records.get(lever.slug, _NO_RECORD))


def _judge(lever: Lever, situation: Situation, record: Record) -> Candidate | NotAdvised | None:
    """A lever on this run: advised, refused with the reason, or not to the point (None)."""
    if (
        refuse.of_training(lever, situation)
        or refuse.of_no_training(lever, situation)
        or refuse.no_engine(lever, situation)
        or refuse.no_role(lever, situation)
        or refuse.cards_untold(lever, situation)
        or refuse.fixed(lever, situation)
    ):
        return None
    wrong, applying = refuse.wrong_pool(lever, situation), applies(lever, situation)
    if attempt := refuse.tried(lever, situation):
        further = attempt.reason == "tried" and wrong is None and already.on(lever, situation) is None
        return refuse.with_further_step(attempt, try_lever(lever, situation), situation) if further else attempt
    if (wrong is None and applying is False) or (wrong and situation.supposed):
        return None
    apart = (
        refuse.on_other_cards(lever, situation)
        or refuse.of_the_trainer(lever, situation)
        or of_the_actor(lever, situation)
        or refuse.makes_no_room(lever, situation)
    )
    if refused := wrong or apart or already.on(lever, situation) or refuse.dead(lever, situation):
        return refused
    rank = rank_of(lever, situation)
    if (lever.only_ranked and rank is None) or (_nothing_failed(situation) and not (rank and rank.why)):
        return None
    trial = try_lever(lever, situation, record.values)
    if rank is not None and "in_tower" in rank.when and tries_as_many(lever, situation):
        return NotAdvised(lever, "no_gain", "As it starts the engine tries as many tokens of images with it.")
    if isinstance(trial, Refusal):
        trial = _without_a_figure_for_it(trial, lever, situation, rank)
    if isinstance(trial, Refusal):
        return NotAdvised(lever, trial.reason, trial.why, _span(lever, situation))
    limits = bool(trial.changes) and lever.changes[0].unset is not None  # what nobody limits is open by that alone
    undecided = trial.after is None and applying is None and not limits and is_guess(lever, situation)
    return Candidate(lever, trial, record, situation, undecided)


def _without_a_figure_for_it(
    refusal: Refusal, lever: Lever, situation: Situation, rank: LeverRank | None
) -> Trial | Refusal:
    """The lever without figures where those that refuse it speak of something else; else the refusal."""
    if tries_as_many(lever, situation):
        return refusal
    helps_by_no_figure = refusal.reason in ("no_gain", "untold")
    if helps_by_no_figure and _may_be_the_cause(lever, situation):
        return least(lever, situation)
    # a conflict that the text shows, the process that holds the memory, or what the message itself names: no peak in bytes tells these
    told = rank is not None and bool(rank.why) and (lever.keyless or bool({"holder", "message"} & rank.when.keys()))
    if (helps_by_no_figure and told) or (not refusal.shifts and speaks_too_low(refusal, lever, situation, rank)):
        return smallest(lever, situation) or refusal
    return refusal


def _moved(
    move: Move, situation: Situation, knowledge: Knowledge, records: Mapping[str, Record]
) -> Candidate | NotAdvised:
    """A move to a named version; tried on the estimate only where the record says which facts move with it."""
    lever, record = knowledge.levers[move.first.lever], records.get(move.first.slug, Record())
    if attempt := refuse.tried(lever, situation):
        return replace(attempt, why=f"{attempt.why} {advisory.heading(move.first, move.target)}.")
    trial: Trial | Refusal = Trial(lever, situation.facts, (move.change,))
    if move.first.moves and situation.failing is not None:
        facts = situation.facts.with_facts(Fact(id, value, "answered") for id, value in move.first.moves.items())
        trial = measure(lever, situation, Written(facts, (move.change,), situation.fallback))
    if isinstance(trial, Refusal):
        return NotAdvised(lever, trial.reason, trial.why, move.at.span)
    return Candidate(lever, trial, record, situation, move.undecided, move)


def _idle(candidate: Candidate) -> bool:
    """Whether it changes no figure of a run that has not failed, of which figures are all that is known; other machines may still help.

    Or too little of the card to matter, where by its figures the failing phase has room as it is.
    """
    situation, trial = candidate.situation, candidate.trial
    before, limit = situation.failing, situation.limit
    if before and limit and trial.after and situation.explained is False and not situation.unexplained:
        return before.bytes - trial.after.bytes < LEAST_GAIN * limit
    pool = situation.before.pool(situation.pool) if situation.pool else None
    if pool and pool.verdict() == "close" and _may_be_the_cause(candidate.lever, situation):
        return False  # what the verdict waits for
    speaks = situation.kind is None and situation.failing is not None and situation.limit is not None
    return speaks and trial.after is None and candidate.lever.order < HARDWARE


def _nothing_failed(situation: Situation) -> bool:
    """Neither the text nor the estimate says that anything ran out."""
    return situation.kind is None and situation.pool is None


def _may_be_the_cause(lever: Lever, situation: Situation) -> bool:
    """Whether the lever's first fact is unknown and missing in the estimate: no figure, but no reason against it either."""
    return bool(lever.changes) and lever.changes[0].fact in situation.before.missing


def _span(lever: Lever, situation: Situation) -> Span | None:
    return next(
        (fact.span for change in lever.changes if (fact := situation.facts.stated.get(change.fact)) and fact.span), None
    )


def _first_of_each(candidates: list[Candidate]) -> list[Candidate]:
    """Each lever once, but for moves of several packages, and each change of a key once: two levers may come down to the same word.

    A move whose phase is open stands where its lever would without a version.
    """
    open_moves = {one.lever.slug: one for one in reversed(candidates) if one.move and one.undecided}
    kept: list[Candidate] = []
    levers: dict[str, set[str]] = {}
    changes: set[frozenset[tuple[str, str]]] = set()
    for one in candidates:
        candidate = one if one.move else open_moves.get(one.lever.slug, one)
        change = frozenset((made.key, made.after) for made in candidate.trial.changes if made.key)
        package = candidate.move.first.package if candidate.move else ""
        packages = levers.setdefault(candidate.lever.slug, set())
        again = "" in packages or package in packages or (packages and not package)
        if not again and not (change and change in changes):
            kept.append(candidate)
            packages.add(package)
            changes.add(change)
    return kept


def _prescription(candidate: Candidate, ranged: bool) -> Prescription:
    lever, trial, situation, move = candidate.lever, candidate.trial, candidate.situation, candidate.move
    before = situation.failing if trial.after else None
    return Prescription(
        lever=lever,
        changes=_changes(trial, situation),
        pool=situation.pool or lever.pools[0],  # type: ignore[arg-type]
        phase=before.phase if before else (situation.phase or ""),
        before=situation.seen(before),
        after=situation.seen(trial.after),
        after_verdict=situation.told(trial.verdict),
        evidence=candidate.record.evidence,
        why=_why(candidate),
        patch=() if move else patch(situation.paste, trial.changes, situation.facts.framework, situation.values),
        length_range=_length_range(trial, situation) if ranged else None,
        other_pool=trial.other_pool,
        sure=trial.sure,
        room=trial.room,
        advisories=move.advisories if move else (),
        heading=advisory.heading(move.first, move.target) if move else "",
    )


def _changes(trial: Trial, situation: Situation) -> tuple[Change, ...]:
    """The changes; without a number where only a default would have been lowered, of a run whose settings nobody pasted."""
    if trial.after is not None or situation.facts.configured:
        return trial.changes
    return tuple(replace(one, after=_aside(one, trial, situation)) for one in trial.changes)


def _aside(change: Change, trial: Trial, situation: Situation) -> str:
    now, then = situation.facts.number(change.fact), trial.facts.number(change.fact)
    words = number(change.after) is None  # a yes or no, or a name, is what it is
    if words or now is None or then is None or situation.facts.certain(change.fact):
        return change.after
    return LESS if then < now else MORE


def _why(candidate: Candidate) -> str:
    told = why(candidate.lever, candidate.trial, candidate.situation)
    if candidate.move is None:
        return told
    said = advisory.why(candidate.move.advisories, candidate.move.at, candidate.undecided)
    return said if candidate.trial.after is None else f"{said} {told}".rstrip()


def _length_range(trial: Trial, situation: Situation) -> tuple[int | None, int | None] | None:
    """From which real length the run as it is runs out, and up to which the changed one fits; only for an assumed length."""
    stated, before, limit = situation.facts.stated.get("real_response_length"), situation.failing, situation.limit
    if trial.after is None or before is None or limit is None or stated is None or stated.origin != "assumed":
        return None
    if trial.verdict == "out" and trial.after.phase != before.phase:
        return None  # whatever the length, another phase runs out
    if not any("real_response_length" in term.moved_by for term in before.terms):
        return None
    runs_out_from = situation.runs_out_from
    if runs_out_from is None:
        return None
    then = turning_length(trial.facts, limit, before.phase, situation.fallback)
    if then is not None and then <= runs_out_from:
        return None
    return runs_out_from, None if then is None else then - 1
