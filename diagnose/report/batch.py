"""The batch interface: the JSON object that one diagnosis gives. Its names are a promise; see docs/batch-interface.md."""

from __future__ import annotations

from typing import Any

from diagnose.types import (
    Ahead,
    Change,
    Check,
    Compared,
    Diagnosis,
    Fact,
    Facts,
    Growth,
    PhaseEstimate,
    PoolEstimate,
    Prescription,
    Together,
)
from diagnose.units import GIB
from diagnose.vocabulary import FACTS, NUMBERS, POOL_OF_KIND, Value
from diagnose.words.advisory import check_words, find_out, range_words
from diagnose.words.measured import reached, unheld

_FITS = {"fits": True, "out": False}


def to_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """The whole answer with plain types; sizes in GiB, absent or null where something is unknown."""
    return {
        "framework": _framework(diagnosis.facts),
        "oom_kind": diagnosis.kind,
        "phase": diagnosis.phase,
        "facts": _facts(diagnosis.facts),
        "assumed": _assumed(diagnosis.facts),
        "notes": list(diagnosis.facts.notes),
        "config": dict(diagnosis.facts.config),
        "estimate": _estimate(diagnosis),
        "measured": [_measured(one) for one in diagnosis.estimate.compared or unheld(diagnosis.facts.measured)],
        "growth": [_growth(one, diagnosis) for one in diagnosis.facts.growth],
        "prescriptions": [_prescription(prescription) for prescription in diagnosis.prescriptions],
        "together": together_to_json(diagnosis.together) if diagnosis.together else None,
        "ahead": _ahead(diagnosis.ahead) if diagnosis.ahead else None,
        "checks": [_check(check) for check in diagnosis.checks],
        "cases": [{"slug": near.case.slug, "score": round(near.score, 3)} for near in diagnosis.matches],
        "questions": [asked.question.fact for asked in diagnosis.questions],
    }


def _ahead(ahead: Ahead) -> dict[str, Any]:
    """The phase that runs out next once the first change is made, and what brings the whole run to fit."""
    together = together_to_json(ahead.together) if ahead.together else None
    return {**_phase(ahead.phase), "limit_gib": _gib(ahead.limit), "together": together}


def _framework(facts: Facts) -> Value | None:
    """The framework's id; a fork or another trainer whose name is known as ``other:`` and its own id."""
    return f"other:{facts.fork.id}" if facts.fork else facts.values.get("framework")


def _shown(fact: Fact) -> bool:
    return fact.certain or fact.origin in ("derived", "assumed")


def _facts(facts: Facts) -> dict[str, Any]:
    """What was read or answered and what follows from it; assumptions too, which ``assumed`` tells apart."""
    values = {
        id: facts.values[id]
        for id, fact in facts.stated.items()
        if _shown(fact) and id in facts.values and id not in NUMBERS
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
    estimate, failed = diagnosis.estimate, POOL_OF_KIND.get(diagnosis.kind or "")
    gpu = _pool(estimate.gpu, failed=failed == "gpu")
    # the peak is what the usual counter shows of a card or a node, the need what it cannot do without
    if gpu is not None:
        gpu["torch_allocated_gib"] = _gib(estimate.torch_allocated)
        gpu["torch_reserved_gib"] = _gib(estimate.torch_reserved)
        gpu["need_gib"] = gpu["peak_gib"]
        gpu["peak_gib"] = _gib(estimate.device_used)
    host = _pool(estimate.host, failed=failed == "host")
    if host is not None:
        host["need_gib"] = host["peak_gib"]
        host["peak_gib"] = _gib(estimate.host_used)
    return {"gpu": gpu, "host": host, "missing": list(estimate.missing)}


def _pool(pool: PoolEstimate | None, *, failed: bool) -> dict[str, Any] | None:
    """What a pool takes; of one that ``failed`` never that it fits, whatever the settings that are known come to."""
    if pool is None or not pool.phases:
        return None
    peak, verdict = pool.worst, pool.verdict()
    return {
        "capacity_gib": _gib(pool.capacity),
        "limit_gib": _gib(pool.limit),
        "peak_gib": _gib(peak.need),
        "low_gib": _gib(max(phase.bounds[0] for phase in pool.phases)),
        "high_gib": _gib(max(phase.bounds[1] for phase in pool.phases)),
        "peak_phase": peak.phase,
        "fits": None if failed and verdict == "fits" else _FITS.get(verdict),
        "phases": [_phase(phase) for phase in pool.phases],
    }


def _phase(phase: PhaseEstimate) -> dict[str, Any]:
    terms = [{"term": term.id, "gib": _gib(term.bytes), "how": term.how} for term in phase.terms]
    return {
        "phase": phase.phase,
        "gib": _gib(phase.bytes),
        "measured_gib": _gib(phase.measured),
        "low_gib": _gib(phase.low),
        "high_gib": _gib(phase.high),
        "terms": terms,
    }


def _measured(one: Compared) -> dict[str, Any]:
    """A reading of the log beside the estimate of the same thing."""
    reading = one.measured
    return {
        "phase": reading.phase or None,
        "moment": reading.moment,
        "pool": reading.pool,
        "counter": reading.counter,
        "gib": _gib(reading.bytes) if reading.bytes or not reading.tokens else None,
        "tokens": reading.tokens or None,
        "step": reading.step,
        "line": reading.span.line,
        "estimate_gib": _gib(one.estimate),
        "difference_gib": _gib(one.difference),
    }


def _growth(one: Growth, diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "pool": one.pool,
        "counter": one.counter,
        "gib_a_step": round(one.each / GIB, 4),
        "first_step": one.first[0],
        "last_step": one.last[0],
        "last_gib": _gib(one.last[1]),
        "reaches_limit_at_step": reached(one, diagnosis.estimate),
        "line": one.span.line,
    }


def _prescription(prescription: Prescription) -> dict[str, Any]:
    evidence = prescription.evidence
    return {
        "lever": prescription.lever.slug,
        "title": prescription.title,
        "advisories": [advisory.slug for advisory in prescription.advisories],
        "changes": [_change(change) for change in prescription.changes],
        "pool": prescription.pool,
        "phase": prescription.phase,
        "before_gib": _gib(prescription.before.need) if prescription.before else None,
        "after_gib": _gib(prescription.after.need) if prescription.after else None,
        "fits_after": _FITS.get(prescription.after_verdict),
        "evidence": {
            "worked": len(evidence.worked),
            "failed": len(evidence.failed),
            "suggested": len(evidence.suggested),
        },
        "why": prescription.why,
    }


def together_to_json(together: Together) -> dict[str, Any]:
    return {
        "levers": [lever.slug for lever in together.levers],
        "changes": [_change(change) for change in together.changes],
        "pool": together.pool,
        "before_gib": _gib(together.before.need),
        "after_gib": _gib(together.after.need),
        "after_phase": together.after.phase,
        "fits_after": _FITS.get(together.after_verdict),
    }


def _check(check: Check) -> dict[str, Any]:
    """What holds only if a package is of these versions, which nothing tells."""
    advisory = check.advisory
    return {
        "advisory": advisory.slug,
        "lever": advisory.lever,
        "package": advisory.package,
        "if": range_words(advisory),
        "to": advisory.target.name,
        "title": advisory.title,
        "find_out": find_out(advisory),
        "says": check_words(check),
    }


def _change(change: Change) -> dict[str, Any]:
    shipped = {"shipped": change.shipped} if change.shipped else {}
    return {"key": change.key, "before": change.before, "after": change.after, **shipped}


def _gib(size: int | None) -> float | None:
    return None if size is None else round(size / GIB, 3)
