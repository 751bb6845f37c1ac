"""What fits around a run, in words: the largest of each setting, and cards against the length limit as a table of links."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.batch import rows_held
from diagnose.fit import Cell, Fit, Row
from diagnose.types import Facts
from diagnose.units import to_gib
from diagnose.vocabulary import FACTS, Value
from diagnose.words import in_sentence, phase_words
from diagnose.words.figures import NBSP
from wizard import state
from wizard.state import Answers

_FEWEST = {"n_gpus": "fewest cards", "trainer_gpus": "fewest cards that train"}
_NEXT = {"out": "runs out", "close": "is too close to call"}
_CSS = {"fits": "fit", "close": "clo", "out": "no"}
_MARKS = {"fits": "", "close": f"{NBSP}?", "out": f"{NBSP}✕"}
_SAID = {"fits": "fits", "close": "too close to call", "out": "runs out"}


@dataclass(frozen=True, slots=True)
class Largest:
    """One row: ``link`` is the query of the page with that value, empty where there is none or it stands so already."""

    title: str
    now: str
    best: str
    link: str
    why: str


@dataclass(frozen=True, slots=True)
class Square:
    """One run: its peak on a card, and its verdict. ``host``: it is the node's memory that decides it."""

    words: str
    host: bool
    css: str
    link: str
    says: str


@dataclass(frozen=True, slots=True)
class Map:
    """``head`` are the limits, short and whole; ``rows`` a count of cards with its squares."""

    head: tuple[tuple[str, str], ...]
    rows: tuple[tuple[int, tuple[Square, ...]], ...]
    by_length: str
    host: bool


def largest(fit: Fit, answers: Answers, facts: Facts) -> tuple[Largest, ...]:
    return tuple(_largest(row, answers, facts) for row in fit.rows)


def _largest(row: Row, answers: Answers, facts: Facts) -> Largest:
    limitless = row.free and not row.fewest
    known = row.best is not None and not limitless
    moves = known and row.best != row.now
    return Largest(
        title=_FEWEST.get(row.id) or in_sentence(FACTS[row.id].title),
        now=_number(row.now, row.id) if row.now is not None else "not told",
        best="no limit" if limitless else _number(row.best, row.id) if row.best is not None else "none",
        link=state.query({**answers.values, **row.settings}) if moves else "",
        why=_free(row, facts) if row.free else _stop(row),
    )


def _number(value: Value | None, id: str) -> str:
    if id == "gpu_memory_utilization" and isinstance(value, (int, float)):
        return f"{value:.2f}"
    return f"{value:,}" if isinstance(value, (int, float)) else str(value)


def _stop(row: Row) -> str:
    """The phase and the term that stop it, and whether what comes next runs out or cannot be called."""
    place = phase_words(row.phase.phase if row.phase else None)
    what = f"{place}, {in_sentence(row.term.title)}" if row.term else place
    if row.pool and row.pool.pool == "host":
        what = f"host RAM: {what}"
    if row.best is None:
        return f"{what}; even the {'largest count' if row.fewest else 'smallest'} tried {_NEXT[row.next]}"
    return f"{what}; {'with fewer it' if row.fewest else 'the next'} {_NEXT[row.next]}"


def _free(row: Row, facts: Facts) -> str:
    """Why nothing limits it, or how far that was tried."""
    if row.fewest:
        return "the smallest count that the parallel sizes allow"
    held = rows_held(facts.values, "mini_batch_size") if row.id == "micro_batch" else None
    if held and isinstance(row.best, int) and held <= row.best:
        return f"a GPU holds {held:,} rows of a mini batch, so no pass takes more"
    ends = {"response_length": ", where the model’s positions end", "max_length": ", where the model’s positions end"}
    return f"fits at every value tried, up to {_number(row.best, row.id)}{ends.get(row.id, '')}"


def table(fit: Fit, answers: Answers) -> Map | None:
    """The table of links; None where no limit is told."""
    if not fit.table:
        return None
    rows = tuple((row[0].cards, tuple(_square(cell, answers) for cell in row)) for row in fit.table)
    return Map(
        head=tuple((_short(cell.length), f"{cell.length:,} tokens") for cell in fit.table[0]),
        rows=rows,
        by_length=in_sentence(FACTS[fit.length_id].title),
        host=any(square.host for _, squares in rows for square in squares),
    )


def _short(length: int) -> str:
    return f"{length // 1024}k" if length % 1024 == 0 else f"{length:,}"


def _square(cell: Cell, answers: Answers) -> Square:
    verdict, pool = cell.trial.verdict, cell.trial.tight[0]
    peak = f"{to_gib(cell.trial.pools[0].worst.need):.0f}"
    by_host = pool.pool == "host" and verdict != "fits"
    cards = "1 GPU" if cell.cards == 1 else f"{cell.cards:,} GPUs"
    where = "host RAM " if by_host else ""
    present = ", this one" if cell.present else ""
    return Square(
        words=f"{peak}{_MARKS[verdict]}",
        host=by_host,
        css=f"{_CSS[verdict]}{' you' if cell.present else ''}",
        link=state.query({**answers.values, **cell.settings}),
        says=f"{cards}, {cell.length:,} tokens: {peak}{NBSP}GiB, {where}{_SAID[verdict]}{present}",
    )
