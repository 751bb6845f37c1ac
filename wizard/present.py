"""A diagnosis → what the result page shows. No rule stands here: only choosing, naming and rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diagnose import words as core
from diagnose.facts.failing.kind import not_memory
from diagnose.knowledge import Knowledge
from diagnose.report import to_markdown
from diagnose.types import Diagnosis, PhaseEstimate, PoolEstimate
from diagnose.words import killed
from diagnose.words.headline import headline
from kb.facets import trainers
from kb.mini import Mini
from wizard import (
    advice,
    asking,
    first,
    fit_settings,
    ledger,
    links,
    measured,
    near,
    notes,
    reading,
    state,
    verdict,
    words,
)
from wizard.asking import Ask
from wizard.chart import bars, columns, drawing
from wizard.chart.data import Column
from wizard.state import Answers

SHOWN = 3  # prescriptions that stand open; the others are folded


def present(
    diagnosis: Diagnosis,
    answers: Answers,
    knowledge: Knowledge,
    *,
    pasted: bool,
    pictures: Mapping[str, Mini | None],
) -> dict[str, Any]:
    """Everything that ``wizard/result.html`` names. ``pasted`` is false where the facts alone came by a link."""
    pool = _pool(diagnosis)
    phase = core.worst(diagnosis, pool) if pool else None
    seen = ledger.reported(diagnosis)
    return {
        "diagnosis": diagnosis,
        "pasted": pasted,
        "beside": ledger.beside(diagnosis, phase),
        "cut_short": ledger.cut_short(diagnosis, phase),
        "measured": measured.rows(diagnosis),
        "grown": measured.grown(diagnosis),
        "ask": _next_question(diagnosis, answers),
        "near": near.cases(diagnosis.matches, pictures, trainers(knowledge)),
        "link": state.link_of(links.link(diagnosis, knowledge)),
        "fit_link": state.query(fit_settings.of_diagnosis(diagnosis, knowledge))
        if pool and not diagnosis.facts.serves
        else "",
        "carried": state.as_pairs(answers),
        "skipped": answers.skipped,
        "markdown": to_markdown(diagnosis),
        "notices": diagnosis.facts.notes,
        "lists": reading.lists(knowledge),
        **_head(diagnosis, pool, phase, seen),
        **_advice(diagnosis),
        **_read(diagnosis, answers, pasted),
        **(_memory(diagnosis, pool, phase, seen) if pool and phase else {}),
    }


def _advice(diagnosis: Diagnosis) -> dict[str, Any]:
    """What to change, and all that is said beside it."""
    advised = advice.prescriptions(diagnosis, words.names_of(diagnosis.cases))
    several = advice.together(diagnosis, diagnosis.together)
    return {
        "advice": advised[:SHOWN],
        "more": advised[SHOWN:],
        "together": several,
        "first": None if not_memory(diagnosis.facts) else first.first(advised, several),
        "fitting": diagnosis.fits_after(SHOWN),
        "ahead": notes.ahead_of(diagnosis),
        "against": advice.not_advised(diagnosis),
        "checks": advice.checks(diagnosis),
    }


def foreseen(diagnosis: Diagnosis) -> dict[str, Any]:
    """Verdict and chart of a run that has not begun."""
    pool = _pool(diagnosis)
    phase = core.worst(diagnosis, pool) if pool else None
    head = _head(diagnosis, pool, phase, None)
    return {"diagnosis": diagnosis, **head, **(_memory(diagnosis, pool, phase, None) if pool and phase else {})}


def _next_question(diagnosis: Diagnosis, answers: Answers) -> Ask | None:
    open_ones = (asked for asked in diagnosis.questions if asked.question.fact not in answers.skipped)
    return next((asking.ask(asked, diagnosis.facts, answers) for asked in open_ones), None)


def _head(
    diagnosis: Diagnosis, pool: PoolEstimate | None, phase: PhaseEstimate | None, seen: int | None
) -> dict[str, Any]:
    """Stamp, sentences, figures and notes. What an estimate lacks is said by a note, then not by the lead as well."""
    shape, stamp = verdict.stamp(diagnosis)
    no_memory = not_memory(diagnosis.facts) is not None
    return {
        "shape": shape,
        "stamp": stamp,
        "run": core.run_words(diagnosis.facts),
        "headline": headline(diagnosis),
        "no_memory": no_memory,
        "lead": core.lead(diagnosis) if pool or no_memory or not diagnosis.estimate.missing else "",
        "killed": killed.told(diagnosis),
        "figures": verdict.figures(diagnosis, pool, phase, seen),
        "notes": notes.notes(diagnosis),
    }


def _pool(diagnosis: Diagnosis) -> PoolEstimate | None:
    """The pool to draw: the one that failed; without a failure the one that the estimate has."""
    estimate = diagnosis.estimate
    chosen = estimate.pool(diagnosis.pool) if diagnosis.pool else estimate.gpu or estimate.host
    return chosen if chosen and chosen.phases else None


def _read(diagnosis: Diagnosis, answers: Answers, pasted: bool) -> dict[str, Any]:
    groups = reading.groups(diagnosis, answers, "you" if pasted else "link")
    rows = [row for group in groups for row in group.rows]
    told = [row for row in rows if not row.guess]
    assumed = [row for row in rows if row.chip in ("assumed", "follows")]
    return {
        "groups": groups,
        "defaults": reading.defaults(diagnosis),
        "tried": [(tried, _lever_title(diagnosis, tried.lever)) for tried in diagnosis.facts.tried],
        "told": len(told),
        "assumed": len(assumed),
        "rows": reading.paste_rows(diagnosis) if pasted else (),
        "redacted": words.redacted(diagnosis),
        "lines": words.counted(diagnosis.paste.total_lines, "line"),
    }


def _lever_title(diagnosis: Diagnosis, slug: str) -> str:
    """A lever's title where this answer names it, else its id."""
    named = [given.lever for given in diagnosis.prescriptions] + [given.lever for given in diagnosis.not_advised]
    return next((lever.title for lever in named if lever.slug == slug), slug)


def _memory(diagnosis: Diagnosis, pool: PoolEstimate, phase: PhaseEstimate, seen: int | None) -> dict[str, Any]:
    ceiling = words.ceiling_words(pool, diagnosis.facts)
    # on a card the message speaks of the phase in which it ran out, where that is known
    reported = seen if pool.pool == "host" or diagnosis.phase == phase.phase else None
    drawn = drawing(pool, phase.phase, ceiling, reported)
    frames = [column for column in drawn.columns if column.seen]
    head, rows = ledger.all_phases(drawn)
    other = diagnosis.estimate.host if pool.pool == "gpu" else diagnosis.estimate.gpu
    made: dict[str, Any] = {
        "chart": {"wide": columns(drawn), "slim": bars(drawn), "key": drawn.roles, "ghost": _hatch(frames)},
        "banded": any(column.banded for column in drawn.columns),
        "caption": words.caption(pool, diagnosis.facts),
        "pool": pool,
        "ledgers": ledger.ledgers(pool, diagnosis.facts, phase.phase, reported),
        "table_head": head,
        "table_rows": rows,
        "table_seen": any(row.seen for row in rows),
    }
    if other and other.phases:
        other_drawn = drawing(other, other.worst.phase, "")
        other_head, other_rows = ledger.all_phases(other_drawn)
        made["other"] = {"words": words.other_pool_words(other), "head": other_head, "rows": other_rows}
        made["other"]["seen"] = any(row.seen for row in other_rows)
    return made


def _hatch(frames: Sequence[Column]) -> str:
    """The pattern that stands in the key for what was seen and not explained; nothing where there is no such frame."""
    return ("x-out" if any(column.over for column in frames) else "x-seen") if frames else ""
