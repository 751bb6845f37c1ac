"""Before a run: the largest value of each setting that fits, changed alone, and cards against the length limit.

A bisection asks for the last value that fits, so it goes only over settings of which more never takes less memory:
rows of a pass, its token budget, the limit of a row, samples of a prompt, the engine's share. Each makes a band of some
term longer and none shorter (tests/diagnose/fit holds this over all frameworks). Cards are no such setting, since what they
are split by must divide them; their counts are tried one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from diagnose.batch import whole
from diagnose.fit.bench import Bench, Settings, Trial, cards_fact
from diagnose.knowledge.records import Framework
from diagnose.types import Facts, PhaseEstimate, PoolEstimate, Term
from diagnose.vocabulary import Value

__all__ = ["Bench", "Cell", "Fit", "Row", "Trial", "fit"]

MOST_ROWS = 1024  # of a pass, or samples of a prompt: beyond it nobody sets them
MOST_TOKENS = 1 << 20
MOST_CARDS = 1024
_LENGTHS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)  # columns of the table, as parts of the present limit
_CARDS = (-3, 2)  # its rows, as powers of two of the present count
_STEPS: dict[str, float] = {
    "response_length": 256,
    "max_length": 256,
    "micro_tokens": 256,
    "gpu_memory_utilization": 0.01,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One setting changed alone. ``best`` is the last value that fits: None where none does.

    ``free`` is how far it was tried where all of it fits. ``pool``, ``phase`` and ``term`` are what stops the next value (or, where
    none fits, the first), ``next`` its verdict. ``fewest``: the setting is one of which less is wanted.
    """

    id: str
    now: Value | None
    best: Value | None
    settings: Settings
    free: bool = False
    pool: PoolEstimate | None = None
    phase: PhaseEstimate | None = None
    term: Term | None = None
    next: str = ""
    fewest: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """The run on so many cards with that limit of a row. ``present`` is the run as it is."""

    cards: int
    length: int
    settings: Settings
    trial: Trial
    present: bool


@dataclass(frozen=True, slots=True)
class Fit:
    """``rows`` one a setting; ``table`` one tuple a number of cards. Both are empty where no limit or no estimate is known."""

    rows: tuple[Row, ...] = ()
    table: tuple[tuple[Cell, ...], ...] = ()
    cards_id: str = "n_gpus"
    length_id: str = "response_length"


def fit(facts: Facts, fallback: Framework | None = None) -> Fit:
    """Everything that fits around a run, by the estimate."""
    bench = Bench(facts, fallback)
    if bench.at({}).verdict == "unknown":
        return Fit()
    length = _length_fact(bench)
    rows = [row for id in _growing(bench, length) if (row := largest(bench, id)) is not None]
    return Fit(
        rows=(*rows, *([few] if (few := fewest_cards(bench)) else ())),
        table=_table(bench, length),
        cards_id=cards_fact(facts),
        length_id=length,
    )


def _length_fact(bench: Bench) -> str:
    """What bounds a row: a limit of the whole row, in runs that sample where it was told and none of the prompts is known."""
    plan = bench.plan({})
    if plan is None or not bench.now("max_length"):
        return "response_length"
    apart = plan.online and (bench.now("prompt_length") or not bench.facts.certain("max_length"))
    return "response_length" if apart else "max_length"


def _growing(bench: Bench, length: str) -> tuple[str, ...]:
    """The settings that this run has: rows or a budget, and what belongs to an engine that a share of the card sizes."""
    plan = bench.plan({})
    if plan is None:
        return ()
    packed = plan.values.get("dynamic_batch") is True or plan.does.get("dynamic_length") == "packed"
    ids = ["micro_tokens" if packed else "micro_batch", length]
    if plan.online:
        ids.append("rollout_n")
        if plan.does.get("kv_rule") != "dense" and "kv_pool" in plan.holds("rollout", "gpu"):
            ids.append("gpu_memory_utilization")
    return tuple(ids)


def largest(bench: Bench, id: str) -> Row | None:
    """The last value of a growing setting that fits, by bisection; None where nothing says how large it is now.

    Only a micro batch may be unknown: then it is looked for all the same.
    """
    now = bench.now(id)
    if now is None and id not in ("micro_batch", "micro_tokens"):
        return None
    step = _STEPS.get(id, 1)
    low, high = 1, _last(bench, id, step)

    def at(place: int) -> Trial:
        return bench.at({id: _value(place, step)})

    if at(high).fits:
        best = now if now is not None and now > _value(high, step) else _value(high, step)
        return Row(id, now, best, {id: best, **_beside(bench, id)}, free=True)
    if not at(low).fits:
        return _stopped(Row(id, now, None, {}), at(low), None)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(middle).fits else (low, middle)
    best = _value(low, step)
    return _stopped(Row(id, now, best, {id: best, **_beside(bench, id)}), at(high), at(low))


def _beside(bench: Bench, id: str) -> Settings:
    """What stays as it is beside a setting, where nobody told it and its default hangs on that setting: samples tell GRPO from PPO."""
    algo = bench.facts.values.get("algo")
    return {"algo": algo} if id == "rollout_n" and algo is not None and not bench.facts.certain("algo") else {}


def _last(bench: Bench, id: str, step: float) -> int:
    """How far to look, in steps: a share ends below the whole card, a length where the model's positions end."""
    now = bench.now(id) or 0
    if id == "gpu_memory_utilization":
        return 99
    if id not in _STEPS:
        return max(MOST_ROWS, math.ceil(now))
    positions = bench.facts.model.max_position if bench.facts.model else MOST_TOKENS // 8
    prompt = whole(bench.facts.values, "prompt_length") or 0 if id == "response_length" else 0
    most = MOST_TOKENS if id == "micro_tokens" else max(positions - prompt, step)
    return max(1, int(max(most, now) // step))


def _value(place: int, step: float) -> int | float:
    return place * int(step) if step >= 1 else round(place * step, 2)


def _stopped(row: Row, stop: Trial, before: Trial | None) -> Row:
    """The row with what stops it: the tight phase, and in it the term that grew most, else its largest."""
    pool, phase = stop.tight
    was = {term.id: term.high for term in _phase(before, pool, phase)} if before else {}
    counted = [term for term in phase.terms if term.bytes] or list(phase.terms)
    grown = max(counted, key=lambda term: (term.high - was.get(term.id, 0) if was else 0, term.bytes), default=None)
    return Row(row.id, row.now, row.best, row.settings, False, pool, phase, grown, stop.verdict, row.fewest)


def _phase(trial: Trial, pool: PoolEstimate, phase: PhaseEstimate) -> tuple[Term, ...]:
    same = next((one.phase(phase.phase) for one in trial.pools if one.pool == pool.pool), None)
    return same.terms if same else ()


def fewest_cards(bench: Bench) -> Row | None:
    """The fewest cards that fit, tried from one on; what stops is what the next smaller count runs into."""
    id = cards_fact(bench.facts)
    now = whole(bench.facts.values, id)
    if now is None:
        return None
    counts = _counts(bench, 1, MOST_CARDS)
    stopped: Trial | None = None
    for count in counts:
        trial = bench.at(bench.cards(count))
        if trial.fits:
            row = Row(id, now, count, bench.cards(count), free=stopped is None, fewest=True)
            return row if stopped is None else _stopped(row, stopped, None)
        stopped = trial
    return _stopped(Row(id, now, None, {}, fewest=True), stopped, None) if stopped else None


def _counts(bench: Bench, low: float, high: float) -> list[int]:
    """Powers of two and the present count, as far as the parallel sizes divide them."""
    values, now = bench.facts.values, whole(bench.facts.values, cards_fact(bench.facts)) or 1
    sizes = [whole(values, size) or 1 for size in ("tp", "pp", "sp")]
    split = math.lcm(math.prod(sizes), whole(values, "rollout_tp") or 1)
    powers = {2**power for power in range(MOST_CARDS.bit_length())}
    return sorted(count for count in {*powers, now} if low <= count <= high and (count % split == 0 or count == now))


def _table(bench: Bench, length: str) -> tuple[tuple[Cell, ...], ...]:
    now, cards = bench.now(length), whole(bench.facts.values, cards_fact(bench.facts))
    if not now or not cards:
        return ()
    step = int(_STEPS[length])
    limits = sorted({int(now) if part == 1 else max(step, round(now * part / step) * step) for part in _LENGTHS})
    low, high = (cards * 2.0**power for power in _CARDS)
    return tuple(
        tuple(_cell(bench, count, length, limit, (cards, int(now))) for limit in limits)
        for count in _counts(bench, low, high)
    )


def _cell(bench: Bench, count: int, length: str, limit: int, now: tuple[int, int]) -> Cell:
    present = (count, limit) == now
    settings = {} if present else {**(bench.cards(count) if count != now[0] else {}), length: limit}
    return Cell(count, limit, settings, bench.at(settings), present)
