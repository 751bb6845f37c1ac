"""The top of the answer: stamp and figures."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.facts.failing.kind import not_memory
from diagnose.facts.hardware.memory_limits import job_limited
from diagnose.types import CacheRoom, Diagnosis, Facts, PhaseEstimate, PoolEstimate
from diagnose.units import from_gib, tenths
from diagnose.vocabulary import PHASES
from diagnose.words.figures import NBSP, band_words, gib, phase_tenths, rounded
from wizard.chart.data import shown

_STAMPS = {"out": "RUNS OUT", "close": "TOO CLOSE TO CALL", "fits": "FITS", "unknown": "FACTS MISSING"}


@dataclass(frozen=True, slots=True)
class Figure:
    title: str
    value: str
    unit: str = "GiB"
    bad: bool = False


def stamp(diagnosis: Diagnosis) -> tuple[str, str]:
    """Shape and word. What the message says outranks the estimate; without a failure the estimate speaks."""
    if diagnosis.kind == "other":
        return "none", "NOT SETTLED"
    if told := not_memory(diagnosis.facts):
        return "none", "NOT THE TRAINING" if told.apart else "NO MEMORY FAILURE"
    if diagnosis.kind is None:
        starts = not diagnosis.room or diagnosis.room.verdict != "out"
        if diagnosis.verdict == "out" and (diagnosis.facts.planned or (diagnosis.facts.bare and starts)):
            return "out", "DOES NOT FIT"
        if diagnosis.verdict == "out" and not starts:
            return "out", "DOES NOT START"
        return (diagnosis.verdict if diagnosis.verdict != "unknown" else "none"), _STAMPS[diagnosis.verdict]
    return "out", _STAMPS["out"] if diagnosis.verdict == "out" else "RAN OUT"


def figures(
    diagnosis: Diagnosis, pool: PoolEstimate | None, phase: PhaseEstimate | None, seen: int | None
) -> tuple[Figure, ...]:
    """Four figures at most: need, room, the difference, the band; or what the message alone says."""
    if diagnosis.room:
        return _of_cache(diagnosis.room, diagnosis.kind is not None)
    if pool is None or phase is None:
        return _printed(diagnosis)
    total, low, high = phase_tenths(phase)
    limit = tenths(pool.limit) if pool.limit is not None else None
    of_phase = pool.pool == "host" or diagnosis.phase == phase.phase
    if seen and limit is not None and of_phase and tenths(seen) > total:
        return _reported(pool, tenths(seen), limit, total)
    if phase.measured is not None:
        return _measured(pool, phase, limit, diagnosis.facts)
    name = PHASES.get(phase.phase, phase.phase)
    over = limit is not None and total > limit
    made = [Figure(f"the {name} needs", shown(total), bad=over)]
    if limit is not None:
        made.append(Figure(_who_has(pool, diagnosis.facts), shown(limit)))
        made.append(Figure("over by" if over else "free", shown(abs(total - limit)), bad=over))
    if high > low:
        made.append(Figure("band, low to high", band_words(total, low, high).replace(" to ", "–"), unit=""))
    return tuple(made)


def _who_has(pool: PoolEstimate, facts: Facts) -> str:
    if pool.pool == "host":
        return "the job may use" if job_limited(facts) else "the node has"
    return "the card has"


def _of_cache(room: CacheRoom, failed: bool) -> tuple[Figure, ...]:
    """The engine's share of the card, what comes before its cache and, of one that has not failed, what that holds."""
    bad = room.explains if failed else room.verdict == "out"
    left = Figure("short by" if room.rest < 0 else "left for its cache", shown(abs(tenths(room.rest))), bad=bad)
    made = [
        Figure("the engine may take", shown(tenths(room.share))),
        Figure("its weights", shown(tenths(room.weights))),
    ]
    if not failed and room.rest > 0:
        return (*made, left, Figure("its cache holds", rounded(room.holds), unit="tokens"))
    if room.work + room.others:
        step = "its largest step" if room.work else "the trainer"
        both = step + (", the trainer" if room.others and room.work else "")
        made.append(Figure(both, shown(tenths(room.work + room.others))))
    return (*made, left)


def _reported(pool: PoolEstimate, seen: int, limit: int, total: int) -> tuple[Figure, ...]:
    """What the message counts, where the settings do not come to it."""
    host = pool.pool == "host"
    return (
        Figure("the node had in use" if host else "in use and asked for", shown(seen), bad=True),
        Figure("it kills at" if host else "the card has", shown(limit)),
        Figure("explained", shown(total)),
        Figure("not explained", shown(seen - total), bad=seen > limit),
    )


def _measured(pool: PoolEstimate, phase: PhaseEstimate, limit: int | None, facts: Facts) -> tuple[Figure, ...]:
    """What the log shows the phase to take, and the estimate last: it no longer decides."""
    total, need = phase_tenths(phase)[0], tenths(phase.measured or 0)
    over = limit is not None and need > limit
    made = [Figure(f"the {PHASES.get(phase.phase, phase.phase)}, measured", shown(need), bad=over)]
    if limit is not None:
        made.append(Figure(_who_has(pool, facts), shown(limit)))
        made.append(Figure("over by" if over else "free", shown(abs(need - limit)), bad=over))
    return (*made, Figure("by the estimate", shown(total)))


def _printed(diagnosis: Diagnosis) -> tuple[Figure, ...]:
    titles = {
        "tried_alloc_gib": "asked for",
        "gpu_free_gib": "was free",
        "gpu_total_gib": "the card has",
        "process_gib": "the process held",
        "node_used_gb": "the node had in use",
        "node_total_gb": "the node has",
    }
    numbers = [(title, diagnosis.facts.number(id)) for id, title in titles.items()]
    return tuple(Figure(title, *_sized(number)) for title, number in numbers if number is not None)[:4]


def _sized(number: float) -> tuple[str, str]:
    """Value and unit of a figure in GiB: MiB of what would be nothing."""
    value, _, unit = gib(from_gib(number)).partition(NBSP)
    return value, unit
