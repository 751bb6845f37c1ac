"""Several levers at once, where none alone makes the run fit: found greedily, then each taken back as far as the run still fits.

Greedy, because the best set of a few out of some thirty levers, each of several steps, would take many thousand estimates. Each is
first taken as far as it goes: what leaves results alone before what may change them, then what stands early in the order of
advice and saves much. So the set is short and cheap, not proven to be the shortest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from diagnose.conditions import holds
from diagnose.estimate import estimate_pool, plan_of
from diagnose.knowledge.records import Framework, Lever
from diagnose.prescribe import refuse
from diagnose.prescribe.measure import measure
from diagnose.prescribe.order import SAVED, Candidate, rank_of
from diagnose.prescribe.outcome import Trial
from diagnose.prescribe.patch import patch
from diagnose.prescribe.situation import Situation
from diagnose.prescribe.steps import Targets, steps
from diagnose.prescribe.trial import counted, written_step
from diagnose.prescribe.writing import Written
from diagnose.types import Change, Estimate, Facts, NotAdvised, PhaseEstimate, Together
from diagnose.vocabulary import Pool

# Levers from this order on make another run of it: adapters instead of all weights, another algorithm, other machines.
ANOTHER_RUN = 60
MOST = 5  # changes at once
# What speaks against a lever for good, whatever else is changed.
_FINAL = ("on", "tried", "absent")

Step = tuple[Lever, Targets]


def together(
    situation: Situation, levers: Iterable[Lever], judged: Sequence[Candidate | NotAdvised]
) -> Together | None:
    """The set, with its figures; None where one lever alone is enough, where figures do not speak, or where not even all are enough.

    That last is not said: a run of which the estimate shows far too much may not be the one that was estimated.
    """
    pool, before = situation.pool, situation.failing
    if pool is None or before is None or not _speaks(situation) or any(_is_enough(one) for one in judged):
        return None
    spoken_against = {one.lever.slug for one in judged if isinstance(one, NotAdvised) and one.reason in _FINAL}
    usable = [lever for lever in levers if _usable(lever) and lever.slug not in spoken_against]
    start = replace(situation, phase=None)
    taken, now = _gathered(start, usable)
    word = _word(now.before, pool)
    if word not in ("fits", "close"):
        return None
    taken = _taken_back(start, taken, word)
    made = _applied(start, taken)
    if made is None or not 1 < len(taken) <= MOST:
        return None
    after = _estimated(made.facts, start.fallback)
    return Together(
        levers=tuple(lever for lever, _ in taken),
        changes=made.changes,
        pool=pool,
        before=before,
        after=_peak(after, pool),
        after_verdict=_word(after, pool),
        other_pool=_moved(situation.before, after, pool),
        patch=patch(situation.paste, made.changes, situation.facts.framework),
    )


def _speaks(situation: Situation) -> bool:
    """Whether the estimate has all it needs and shows too much in the failing phase, as much as was measured there."""
    pool = situation.before.pool(situation.pool) if situation.pool else None
    if pool is None or situation.before.guessed(pool.pool) or situation.unexplained or situation.explained is False:
        return False
    return pool.verdict(situation.failing) in ("close", "out")


def _is_enough(one: Candidate | NotAdvised) -> bool:
    return isinstance(one, Candidate) and _usable(one.lever) and (one.trial.verdict == "fits" or bool(one.trial.sure))


def _usable(lever: Lever) -> bool:
    return bool(lever.changes) and not lever.keyless and not lever.only_advised and lever.order < ANOTHER_RUN


def _gathered(start: Situation, levers: Sequence[Lever]) -> tuple[list[Step], Situation]:
    """Levers as far as they go, until the pool fits or none is left that helps."""
    taken: list[Step] = []
    now, left = start, list(levers)
    for results in (("same",), ("same", "may_change")):
        while _word(now.before, start.pool) != "fits":
            found = [one for lever in left if lever.results in results and (one := _furthest(lever, now))]
            if not found:
                break
            lever, step, trial = min(found, key=lambda one: (_place(one[0], one[2], now), one[0].slug))
            taken.append((lever, step))
            left.remove(lever)
            now = replace(now, facts=trial.facts, before=_estimated(trial.facts, now.fallback))
    return taken, now


def _place(lever: Lever, trial: Trial, now: Situation) -> float:
    """The lever's order here, moved by how much of the peak it saves."""
    rank, peak = rank_of(lever, now), now.failing
    saved = 1 - trial.after.bytes / peak.bytes if peak and peak.bytes and trial.after else 0.0
    return (rank.order if rank else lever.order) - SAVED * saved


def _furthest(lever: Lever, now: Situation) -> tuple[Lever, Targets, Trial] | None:
    """The largest step that can be written and saves something at the peak; None where the lever has no place in this run."""
    peak = now.failing
    if peak is None or not counted(lever, now) or (lever.only_ranked and rank_of(lever, now) is None):
        return None
    if (
        holds(lever.when, {**now.values, "phase": peak.phase}) is False
        or refuse.on(lever, now)
        or refuse.dead(lever, now)
    ):
        return None
    for step in reversed(steps(lever, now.facts)):
        made = written_step(lever, now, step)
        if made and made.facts.values != now.facts.values:
            trial = measure(lever, now, made)
            if isinstance(trial, Trial):
                return lever, step, trial
    return None


def _taken_back(start: Situation, taken: list[Step], word: str) -> list[Step]:
    """Each lever left out, or a smaller step of it, while the word stays: first those that may change results, then the last ones."""
    for lever in sorted((lever for lever, _ in taken), key=lambda one: (one.results == "same", -one.order)):
        others = [(one, step) for one, step in taken if one is not lever]
        without = _applied(start, others)
        if without is None:
            continue
        if _earns(start, without, word):
            taken = others
            continue
        for smaller in steps(lever, without.facts):
            fewer = [(one, smaller if one is lever else step) for one, step in taken]
            made = _applied(start, fewer)
            if made and _earns(start, made, word):
                taken = fewer
                break
    return taken


def _applied(start: Situation, taken: Iterable[Step]) -> Written | None:
    """All of them written down, each on what the others made of the run; a key that two of them change is named once."""
    facts = start.facts
    changes: dict[tuple[str, str], Change] = {}
    for lever, step in taken:
        made = written_step(lever, replace(start, facts=facts), step)
        if made is None:
            return None
        facts = made.facts
        for change in made.changes:
            first = changes.get((change.fact, change.key), change)
            changes[change.fact, change.key] = replace(change, before=first.before, span=first.span)
    return Written(facts, tuple(changes.values()))


def _earns(start: Situation, made: Written, word: str) -> bool:
    """Whether the changed run still earns the word, and the other pool does not run out for it."""
    assert start.pool is not None
    plan, other = plan_of(made.facts, start.fallback), _other(start.pool)
    if _word(estimate_pool(plan, start.pool), start.pool) not in ("fits", word):
        return False
    return _word(start.before, other) == "out" or _word(estimate_pool(plan, other), other) != "out"


def _estimated(facts: Facts, fallback: Framework | None) -> Estimate:
    """Both pools of a changed run; what the log measured was of the run as it is."""
    plan = plan_of(facts, fallback)
    return Estimate(gpu=estimate_pool(plan, "gpu").gpu, host=estimate_pool(plan, "host").host)


def _word(found: Estimate, pool: Pool | None) -> str:
    estimated = found.pool(pool) if pool else None
    return estimated.verdict() if estimated and estimated.phases else "unknown"


def _peak(found: Estimate, pool: Pool) -> PhaseEstimate:
    estimated = found.pool(pool)
    assert estimated is not None
    return estimated.peak


def _moved(before: Estimate, after: Estimate, pool: Pool) -> tuple[int, int] | None:
    """The other pool's peak before and after, where the set moves it."""
    was, now = (found.pool(_other(pool)) for found in (before, after))
    if was is None or now is None or not was.phases or not now.phases or was.peak.bytes == now.peak.bytes:
        return None
    return was.peak.bytes, now.peak.bytes


def _other(pool: Pool) -> Pool:
    return "host" if pool == "gpu" else "gpu"
