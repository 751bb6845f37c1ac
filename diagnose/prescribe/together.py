"""Several levers at once, where none alone makes the run fit: found greedily, then each taken back as far as the run still fits.

Greedy, because the best set of a few out of some thirty levers, each of several steps, would take many thousand estimates. Each is
first taken as far as it goes: what leaves results alone before what may change them, then what stands early in the order of
advice and saves much. So the set is short and cheap, not proven to be the shortest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from diagnose.conditions import holds
from diagnose.estimate import estimate_pool
from diagnose.knowledge.records import Lever
from diagnose.outlived import outlived
from diagnose.prescribe import already, refuse
from diagnose.prescribe.measure import engine_starves, moved_peaks
from diagnose.prescribe.older import of_new_keys
from diagnose.prescribe.order import SAVED, Candidate, rank_of
from diagnose.prescribe.outcome import Trial
from diagnose.prescribe.patch import patch
from diagnose.prescribe.several import Several, Step
from diagnose.prescribe.situation import Situation
from diagnose.prescribe.steps import Targets, steps, without
from diagnose.prescribe.trial import counted
from diagnose.prescribe.writing import Written
from diagnose.types import Estimate, Facts, NotAdvised, PhaseEstimate, Together
from diagnose.vocabulary import OTHER_POOL, Pool, Value

# Levers from the first order on train it otherwise, by adapters or in fewer bits: taken only where all before them are not enough. Those
# from the second on make another run of it: another algorithm, another model, other machines.
OTHERWISE, ANOTHER_RUN = 60, 77
MOST = 5  # changes at once
# Above this share of the limit a card is full: what torch keeps for itself takes the rest.
_BRIM = 0.98
# What speaks against a lever for good, whatever else is changed.
_FINAL = ("on", "tried", "cured", "refused", "absent")

Found = tuple[Lever, list[Step], Trial]  # a lever, with what is taken then


def together(
    situation: Situation, levers: Iterable[Lever], judged: Sequence[Candidate | NotAdvised] = (), fewest: int = 2
) -> Together | None:
    """The set, with its figures; None where one lever of ``judged`` is enough, where figures do not speak, or where not even all are.

    Where only levers that may change results are enough alone it is one of those that do not. That not even all are is not said: a run
    of which the estimate shows far too much may not be the one that was estimated.
    """
    if situation.pool is None or situation.failing is None or not _speaks(situation):
        return None
    spoken_against = {one.lever.slug for one in judged if isinstance(one, NotAdvised) and one.reason in _FINAL}
    left = [lever for lever in levers if lever.slug not in spoken_against]
    several = Several(replace(situation, phase=None))
    for below in (OTHERWISE, ANOTHER_RUN):
        if enough := {one.lever.results for one in judged if _is_enough(one, below)}:
            free = [lever for lever in left if _usable(lever, below) and lever.results == "same"]
            found = None if "same" in enough else _set(free, situation, several, True, 2)
            return replace(found, spares=True) if found else None
        near = any(_comes_near(one, situation, below) for one in judged)
        if found := _set([lever for lever in left if _usable(lever, below)], situation, several, near, fewest):
            return found
    return None


def _set(usable: Sequence[Lever], situation: Situation, several: Several, near: bool, fewest: int) -> Together | None:
    """The set of these levers; None where not even all are enough, or where it comes no nearer than one alone does (``near``)."""
    pool, before = situation.pool, situation.failing
    assert pool is not None
    assert before is not None
    taken = _gathered(several, pool, usable)
    word = _word(several.run(taken).before, pool)
    if word == "out" or (word == "close" and near):
        return None
    taken = _taken_back(several, pool, taken, word)
    made = several.written(taken)
    if made is None or not fewest <= len(taken) <= MOST:
        return None
    after = several.run(taken).before
    return Together(
        levers=tuple(lever for lever, _ in taken),
        changes=made.changes,
        pool=pool,
        before=before,
        after=_peak(after, pool),
        after_verdict=_word(after, pool),
        settings=_settings(situation.facts, made.facts),
        other_pool=_moved(situation.before, after, pool),
        patch=patch(situation.paste, made.changes, situation.facts.framework, situation.values),
        older=of_new_keys(situation.facts, made.changes),
    )


def _speaks(situation: Situation) -> bool:
    """Whether the estimate has all it needs and shows too much in the failing phase, as much as was measured there."""
    pool = situation.before.pool(situation.pool) if situation.pool else None
    if pool is None or situation.before.guessed(pool.pool) or situation.unexplained or situation.explained is False:
        return False
    if outlived(situation.facts, situation.before, situation.phase):
        return False
    return pool.verdict(situation.failing) in ("close", "out")


def _is_enough(one: Candidate | NotAdvised, below: int) -> bool:
    fits = isinstance(one, Candidate) and (one.trial.verdict == "fits" or bool(one.trial.sure))
    return fits and _usable(one.lever, below)


def _usable(lever: Lever, below: int) -> bool:
    return bool(lever.changes) and not lever.keyless and not lever.only_advised and lever.order < below


def _comes_near(one: Candidate | NotAdvised, situation: Situation, below: int) -> bool:
    """Whether the lever alone brings the middle of the estimate well below the limit: a set that does no more adds nothing."""
    if not isinstance(one, Candidate) or one.trial.after is None or situation.limit is None:
        return False
    return _usable(one.lever, below) and one.trial.after.bytes <= situation.limit * _BRIM


def _gathered(several: Several, pool: Pool, levers: Sequence[Lever]) -> list[Step]:
    """Levers as far as they go, until the pool fits or none is left that helps."""
    taken: list[Step] = []
    left, known = list(levers), {lever.slug: lever for lever in levers}
    for results in (("same",), ("same", "may_change")):
        while _word((now := several.run(taken)).before, pool) != "fits":
            usable = [lever for lever in left if lever.results in results]
            found = [one for lever in usable if (one := _furthest(lever, several, taken))]
            found = found or [one for lever in usable if (one := _with_opened(lever, known, several, taken))]
            if not found:
                break
            _, taken, _ = min(found, key=lambda one: (_place(one[0], one[2], now), one[0].slug))
            left = [lever for lever in left if all(lever is not one for one, _ in taken)]
    return taken


def _place(lever: Lever, trial: Trial, now: Situation) -> float:
    """The lever's order here, moved by how much of the peak it saves."""
    rank, peak = rank_of(lever, now), now.failing
    saved = 1 - trial.after.bytes / peak.bytes if peak and peak.bytes and trial.after else 0.0
    return (rank.order if rank else lever.order) - SAVED * saved


def _furthest(lever: Lever, several: Several, taken: list[Step]) -> Found | None:
    """The largest step that can be written and saves something at the peak; None where the lever has no place in this run."""
    now = several.run(taken)
    if not _has_place(lever, now):
        return None
    more = ([*taken, (lever, step)] for step in reversed(steps(lever, now.facts)))
    return next(((lever, one, trial) for one in more if (trial := several.trial(one, taken))), None)


def _with_opened(lever: Lever, known: Mapping[str, Lever], several: Several, taken: list[Step]) -> Found | None:
    """The smallest step that, with the lever for which it makes room as far as that goes, is enough, else the last that saves something."""
    other, now, found = known.get(lever.makes_room_for), several.run(taken), None
    if other is None or not (_has_place(lever, now) and counted(other, now)):
        return None
    rest = [(one, step) for one, step in taken if one is not other]
    for step in steps(lever, now.facts):
        wider = several.written([*rest, (lever, step)])
        further = reversed(steps(other, wider.facts)) if wider else ()
        more = ([*rest, (lever, step), (other, far)] for far in further)
        found = next(((lever, one, trial) for one in more if (trial := several.trial(one, taken))), found)
        if found and found[2].verdict == "fits":
            break
    return found


def _has_place(lever: Lever, now: Situation) -> bool:
    peak = now.failing
    if peak is None or not counted(lever, now) or (lever.only_ranked and rank_of(lever, now) is None):
        return False
    values = {**now.values, "phase": peak.phase}
    return not (holds(lever.when, values) is False or already.on(lever, now) or refuse.dead(lever, now))


def _taken_back(several: Several, pool: Pool, taken: list[Step], word: str) -> list[Step]:
    """Each lever left out, or less of it, while the word stays: first those that may change results, then the last ones."""
    for lever in sorted((lever for lever, _ in taken), key=lambda one: (one.results == "same", -one.order)):
        others = [(one, step) for one, step in taken if one is not lever]
        without_it = several.written(others)
        if without_it is None:
            continue
        if _earns(several.start, pool, without_it, word):
            taken = others
            continue
        for smaller in steps(lever, without_it.facts):
            fewer = _with(taken, lever, smaller)
            if (made := several.written(fewer)) and _earns(several.start, pool, made, word):
                taken = fewer
                break
        taken = _pruned(several, pool, taken, lever, word)
    return taken


def _pruned(several: Several, pool: Pool, taken: list[Step], lever: Lever, word: str) -> list[Step]:
    """The same with every fact of the lever left alone that need not move, the last one named first."""
    for id in reversed([change.fact for change in lever.changes]):
        step = next(step for one, step in taken if one is lever)
        less = without(several.start.facts, step, id)
        if id not in step or not any(change.fact in less for change in lever.changes):
            continue
        fewer = _with(taken, lever, less)
        if (made := several.written(fewer)) and _earns(several.start, pool, made, word):
            taken = fewer
    return taken


def _with(taken: list[Step], lever: Lever, step: Targets) -> list[Step]:
    return [(one, step if one is lever else theirs) for one, theirs in taken]


def _earns(start: Situation, pool: Pool, made: Written, word: str) -> bool:
    """Whether the changed run still earns the word, and the other pool does not run out for it."""
    other, after = OTHER_POOL[pool], estimate_pool(made.plan, pool)
    if _word(after, pool) not in ("fits", word) or engine_starves(start, after, made):
        return False
    return _word(start.before, other) == "out" or _word(estimate_pool(made.plan, other), other) != "out"


def _settings(before: Facts, after: Facts) -> dict[str, Value]:
    """The facts that were changed, with what else their keys say, each in its own unit."""
    set_ = (id for id, fact in after.stated.items() if fact.origin == "answered" and id in after.values)
    return {id: after.values[id] for id in set_ if after.values[id] != before.values.get(id)}


def _word(found: Estimate, pool: Pool) -> str:
    """``fits`` with the whole band, ``close`` with the middle at least and not to the brim, else ``out``; ``unknown`` without a limit."""
    estimated = found.pool(pool)
    if estimated is None or not estimated.phases or estimated.limit is None:
        return "unknown"
    word = estimated.verdict()
    return "out" if word == "close" and estimated.peak.bytes > estimated.limit * _BRIM else word


def _peak(found: Estimate, pool: Pool) -> PhaseEstimate:
    estimated = found.pool(pool)
    assert estimated is not None
    return estimated.peak


def _moved(before: Estimate, after: Estimate, pool: Pool) -> tuple[PhaseEstimate, PhaseEstimate] | None:
    """The other pool's peak before and after, where the set moves it."""
    moved = moved_peaks(before, after, OTHER_POOL[pool])
    return (moved[0].peak, moved[1].peak) if moved else None
