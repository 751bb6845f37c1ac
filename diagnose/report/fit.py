"""What fits around a run, as JSON: sizes in GiB, absent or null where something is unknown."""

from __future__ import annotations

from typing import Any

from diagnose.fit import Cell, Fit, Row
from diagnose.report.batch import to_json, together_to_json
from diagnose.types import Diagnosis, Together
from diagnose.units import GIB

_OF_A_RUN = ("framework", "facts", "assumed", "estimate")


def fit_to_json(diagnosis: Diagnosis, fit: Fit, together: Together | None = None) -> dict[str, Any]:
    """The run as in the batch interface, the changes that bring it to fit, each setting changed alone, and cards against lengths."""
    whole = to_json(diagnosis)
    return {
        **{field: whole[field] for field in _OF_A_RUN},
        "verdict": diagnosis.verdict,
        "together": together_to_json(together) if together else None,
        "largest": [_row(row) for row in fit.rows],
        "table": {
            "cards": fit.cards_id,
            "length": fit.length_id,
            "cells": [_cell(c) for row in fit.table for c in row],
        },
    }


def _row(row: Row) -> dict[str, Any]:
    """``best`` is null where no value fits; ``unlimited`` says that every value up to it does."""
    stopped = {
        "pool": row.pool.pool if row.pool else None,
        "phase": row.phase.phase if row.phase else None,
        "term": row.term.id if row.term else None,
        "verdict": row.next or None,
    }
    return {
        "setting": row.id,
        "now": row.now,
        "best": row.best,
        "unlimited": row.free,
        "wanted": "fewest" if row.fewest else "largest",
        "stopped_by": stopped if row.phase else None,
    }


def _cell(cell: Cell) -> dict[str, Any]:
    peak = cell.trial.pools[0].worst
    return {
        "cards": cell.cards,
        "length": cell.length,
        "peak_gib": round(peak.need / GIB, 3),
        "peak_phase": peak.phase,
        "verdict": cell.trial.verdict,
    }
