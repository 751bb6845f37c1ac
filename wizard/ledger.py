"""The tables behind the chart: the terms of each phase, all phases at once, and what the message says beside the estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from diagnose.estimate.phases import AWAKE
from diagnose.types import Diagnosis, Facts, PhaseEstimate, PoolEstimate, Term
from diagnose.units import from_gib, tenths
from diagnose.vocabulary import FACTS, PHASES
from diagnose.words import in_sentence
from diagnose.words.figures import band_words, phase_tenths
from wizard.chart.data import Drawing, role_of, shown

PHASES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class TermRow:
    role: str
    title: str
    gib: str
    how: str
    source: str
    moved_by: SafeString


@dataclass(frozen=True, slots=True)
class Ledger:
    """One phase. ``seen`` and ``rest`` are a reported or measured size and what of it the settings do not explain.

    ``less`` is what they explain too much, where it is below the estimate; ``over``: it is above the limit.
    """

    phase: str
    title: str
    moment: str
    rows: tuple[TermRow, ...]
    total: str
    band: str
    current: bool
    seen: str = ""
    rest: str = ""
    less: str = ""
    over: bool = False


@dataclass(frozen=True, slots=True)
class Beside:
    """A printed figure, the estimate of the same thing, and the difference with its sign; in GiB."""

    title: str
    printed: str
    estimate: str
    difference: str
    line: int


def ledgers(pool: PoolEstimate, facts: Facts, current: str, seen: int | None) -> tuple[Ledger, ...]:
    """The phase in question and the highest others, in the order of a step."""
    others = sorted((phase for phase in pool.phases if phase.phase != current), key=lambda phase: -phase.need)
    kept = {current, *(phase.phase for phase in others[: PHASES_SHOWN - 1])}
    explained = (phase for phase in pool.phases if phase.phase in kept)
    return tuple(_ledger(phase, facts, phase.phase == current, seen, pool.limit) for phase in explained)


def _ledger(phase: PhaseEstimate, facts: Facts, current: bool, seen: int | None, limit: int | None) -> Ledger:
    total, low, high = phase_tenths(phase)
    reported = tenths(seen) if seen and current else 0
    size = max(reported, total if phase.measured is None else tenths(phase.measured))
    rest = size - total
    return Ledger(
        phase=phase.phase,
        title=capfirst(PHASES.get(phase.phase, phase.phase)),
        moment=phase.moment,
        rows=tuple(_term(term, facts) for term in phase.terms if tenths(term.bytes)),
        total=shown(total),
        band=band_words(total, low, high),
        current=current,
        seen=shown(size) if rest else "",
        rest=shown(rest) if rest > 0 else "",
        less=shown(-rest) if rest < 0 else "",
        over=limit is not None and size > tenths(limit),
    )


def _term(term: Term, facts: Facts) -> TermRow:
    moved = tuple(dict.fromkeys(_mover(id, facts) for id in term.moved_by))
    return TermRow(
        role_of(term), capfirst(term.title), shown(tenths(term.bytes)), term.how, term.source, _movers(moved[:3])
    )


def _mover(id: str, facts: Facts) -> tuple[str, bool]:
    """What sets a fact in this run: the last part of its key, and that it is one; else the fact's own words."""
    key = facts.keys.get(id) if facts.read_by_keys else None
    if key:
        return key.rsplit(".", 1)[-1], True
    return (in_sentence(FACTS[id].title).split(" (")[0] if id in FACTS else id), False


@lru_cache(maxsize=1024)
def _movers(moved: tuple[tuple[str, bool], ...]) -> SafeString:
    """What moves a term as its row holds it, keys as code; most rows of a page say the same few."""
    words = (format_html('<code class="mv">{}</code>', word) if is_key else word for word, is_key in moved)
    return format_html_join(", ", "{}", ((word,) for word in words)) if moved else SafeString("–")


@dataclass(frozen=True, slots=True)
class PhaseRow:
    """One phase in the table of all; ``cells`` are its sizes by kind of term as the row holds them."""

    title: str
    cells: SafeString
    peak: str
    seen: str
    free: str
    current: bool


def all_phases(drawing: Drawing) -> tuple[tuple[str, ...], tuple[PhaseRow, ...]]:
    """The head and the rows of the table that says what the chart shows."""
    roles = [role for role, _ in drawing.roles]
    rows = []
    for place, column in enumerate(drawing.columns):
        sizes = {segment.role: segment.size for segment in column.segments}
        free = "" if column.free is None else shown(column.free).replace("-", "−")
        figures = (shown(sizes[role]) if role in sizes else "" for role in roles)
        cells = SafeString("".join([f"<td>{figure}</td>" for figure in figures]))
        seen = shown(column.need) if column.need != column.total else ""
        rows.append(PhaseRow(column.title, cells, shown(column.total), seen, free, place == drawing.worst))
    return tuple(words for _, words in drawing.roles), tuple(rows)


def reported(diagnosis: Diagnosis) -> int | None:
    """Bytes that the message says were in use in the failing pool, with what was asked for on top; None when it says nothing."""
    number = diagnosis.facts.number
    if diagnosis.pool == "host":
        return _bytes(number("node_used_gb"))
    total, free, tried = number("gpu_total_gib"), number("gpu_free_gib"), number("tried_alloc_gib")
    if total is None or free is None or tried is None:
        return None
    return _bytes(total - free + tried)


def beside(diagnosis: Diagnosis, phase: PhaseEstimate | None) -> tuple[Beside, ...]:
    """Every printed figure that the estimate has a counterpart of, of the failing phase where it is known, since the message is of it.

    Law: both are shown, and the difference.
    """
    estimate = diagnosis.estimate
    pool = estimate.pool(diagnosis.pool or "gpu")
    here = sum(phase_tenths(phase)[:1]) if phase else None
    gpu = estimate.gpu.capacity if estimate.gpu else None
    drawn = phase.phase if phase and phase.phase not in AWAKE else diagnosis.phase
    allocated = estimate.torch_of.get(drawn or "", estimate.torch_allocated)
    pairs: Sequence[tuple[str, int | None]] = (
        ("gpu_total_gib", tenths(gpu) if gpu is not None else None),
        ("process_gib", here if pool and pool.pool == "gpu" else None),
        ("torch_allocated_gib", tenths(allocated) if allocated is not None else None),
        ("node_used_gb", here if pool and pool.pool == "host" else None),
        (
            "node_total_gb",
            tenths(estimate.host.capacity) if estimate.host and estimate.host.capacity is not None else None,
        ),
    )
    rows = [_beside(diagnosis.facts, id, value) for id, value in pairs]
    alone = [_beside(diagnosis.facts, id, None) for id in ("tried_alloc_gib", "gpu_free_gib", "torch_reserved_gib")]
    return tuple(row for row in (*rows, *alone) if row)


def cut_short(diagnosis: Diagnosis, phase: PhaseEstimate | None) -> bool:
    """Whether the card was too small to hold what the phase needs: then no printed figure of what was held comes to it."""
    pool, number = diagnosis.estimate.gpu, diagnosis.facts.number
    held = number("process_gib") or number("torch_allocated_gib")
    if diagnosis.pool != "gpu" or pool is None or pool.capacity is None or phase is None or not held:
        return False
    return phase.bytes > pool.capacity


def _beside(facts: Facts, id: str, estimated: int | None) -> Beside | None:
    printed = facts.number(id)
    if printed is None:
        return None
    size = tenths(from_gib(printed))
    difference = size - estimated if estimated is not None else None
    fact = facts.stated.get(id)
    return Beside(
        title=FACTS[id].title,
        printed=shown(size) if size else f"{printed:,.2f}",
        estimate=shown(estimated) if estimated is not None else "",
        difference=_signed(difference),
        line=fact.span.line if fact and fact.span else 0,
    )


def _signed(difference: int | None) -> str:
    if difference is None:
        return ""
    return f"{'+' if difference > 0 else '−' if difference < 0 else ''}{shown(abs(difference))}"


def _bytes(gib: float | None) -> int | None:
    return from_gib(gib) if gib is not None else None
