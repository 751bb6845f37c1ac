"""The batch interface: the JSON object that one diagnosis gives. Its names are a promise; see docs/batch-interface.md."""

from __future__ import annotations

from typing import Any

from diagnose.types import Change, Diagnosis, Fact, Facts, PhaseEstimate, PoolEstimate, Prescription
from diagnose.units import GIB
from diagnose.vocabulary import FACTS, NUMBERS

_FITS = {"fits": True, "out": False}


def to_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """The whole answer with plain types; sizes in GiB, absent or null where something is unknown."""
    return {
        "framework": diagnosis.facts.values.get("framework"),
        "oom_kind": diagnosis.kind,
        "phase": diagnosis.phase,
        "facts": _facts(diagnosis.facts),
        "assumed": _assumed(diagnosis.facts),
        "config": dict(diagnosis.facts.config),
        "estimate": _estimate(diagnosis),
        "prescriptions": [_prescription(prescription) for prescription in diagnosis.prescriptions],
        "cases": [{"slug": near.case.slug, "score": round(near.score, 3)} for near in diagnosis.matches],
        "questions": [asked.question.fact for asked in diagnosis.questions],
    }


def _shown(facts: Facts, fact: Fact) -> bool:
    return fact.certain or fact.origin in ("derived", "assumed")


def _facts(facts: Facts) -> dict[str, Any]:
    """What was read or answered and what follows from it; assumptions too, which ``assumed`` tells apart."""
    values = {
        id: facts.values[id]
        for id, fact in facts.stated.items()
        if _shown(facts, fact) and id in facts.values and id not in NUMBERS
    }
    values |= {
        id: facts.values[id] for id in FACTS if id in facts.values and id not in facts.stated and id not in NUMBERS
    }
    numbers = {id: facts.values[id] for id in NUMBERS if id in facts.values}
    return {**values, "numbers": numbers}


def _assumed(facts: Facts) -> dict[str, Any]:
    return {
        id: facts.values[id]
        for id, fact in facts.stated.items()
        if not fact.certain and fact.origin != "derived" and id in facts.values
    }


def _estimate(diagnosis: Diagnosis) -> dict[str, Any]:
    estimate = diagnosis.estimate
    gpu = _pool(estimate.gpu)
    if gpu is not None:
        gpu["torch_allocated_gib"] = _gib(estimate.torch_allocated)
        gpu["torch_reserved_gib"] = _gib(estimate.torch_reserved)
    return {"gpu": gpu, "host": _pool(estimate.host), "missing": list(estimate.missing)}


def _pool(pool: PoolEstimate | None) -> dict[str, Any] | None:
    if pool is None or not pool.phases:
        return None
    peak = pool.peak
    return {
        "capacity_gib": _gib(pool.capacity),
        "limit_gib": _gib(pool.limit),
        "peak_gib": _gib(peak.bytes),
        "low_gib": _gib(max(phase.low for phase in pool.phases)),
        "high_gib": _gib(max(phase.high for phase in pool.phases)),
        "peak_phase": peak.phase,
        "fits": _FITS.get(pool.verdict()),
        "phases": [_phase(phase) for phase in pool.phases],
    }


def _phase(phase: PhaseEstimate) -> dict[str, Any]:
    terms = [{"term": term.id, "gib": _gib(term.bytes), "how": term.how} for term in phase.terms]
    return {
        "phase": phase.phase,
        "gib": _gib(phase.bytes),
        "low_gib": _gib(phase.low),
        "high_gib": _gib(phase.high),
        "terms": terms,
    }


def _prescription(prescription: Prescription) -> dict[str, Any]:
    evidence = prescription.evidence
    return {
        "lever": prescription.lever.slug,
        "title": prescription.lever.title,
        "changes": [_change(change) for change in prescription.changes],
        "pool": prescription.pool,
        "phase": prescription.phase,
        "before_gib": _gib(prescription.before.bytes) if prescription.before else None,
        "after_gib": _gib(prescription.after.bytes) if prescription.after else None,
        "fits_after": _FITS.get(prescription.after_verdict),
        "evidence": {
            "worked": len(evidence.worked),
            "failed": len(evidence.failed),
            "suggested": len(evidence.suggested),
        },
        "why": prescription.why,
    }


def _change(change: Change) -> dict[str, Any]:
    return {"key": change.key, "before": change.before, "after": change.after}


def _gib(size: int | None) -> float | None:
    return None if size is None else round(size / GIB, 3)
