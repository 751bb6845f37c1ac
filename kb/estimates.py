"""The estimate stored for each case: which are old, and how they are made again."""

from __future__ import annotations

import hashlib
import logging
from functools import cache
from pathlib import Path
from typing import Any

import diagnose
from diagnose.knowledge import Knowledge, current
from diagnose.pipeline import estimate_case
from diagnose.types import Estimate, PoolEstimate
from diagnose.units import to_gib
from kb import documents
from kb.models import CaseEstimate, Document

CHUNK = 100
log = logging.getLogger(__name__)


@cache
def engine_digest() -> str:
    """Of the sources under ``diagnose/``: a changed formula makes every stored estimate old."""
    folder = Path(diagnose.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def refresh(knowledge: Knowledge | None = None) -> int:
    """Makes every old estimate again, in chunks; how many. A second run finds nothing to do."""
    knowledge = knowledge or current()
    done = 0
    while chunk := list(Document.objects.cases().with_old_estimate(engine_digest(), knowledge.digest)[:CHUNK]):
        for case in chunk:
            _store(case, knowledge)
        done += len(chunk)
    return done


def _store(case: Document, knowledge: Knowledge) -> None:
    status, why, result = "done", "", {}
    try:
        result = small(estimate_case(documents.read(case.slug, case.text, knowledge), knowledge))
    except Exception as misfit:  # one case must not keep the others from being estimated; the page shows the reason
        log.exception("no estimate for case %s", case.slug)
        status, why = "failed", f"{type(misfit).__name__}: {misfit}"
    CaseEstimate.objects.update_or_create(
        case=case,
        moment=CaseEstimate.AS_IT_FAILED,
        defaults={
            "case_digest": case.digest,
            "engine_digest": engine_digest(),
            "knowledge_digest": knowledge.digest,
            "status": status,
            "why": why,
            "result": result,
        },
    )


def small(estimate: Estimate) -> dict[str, Any]:
    """What lists and case pages show: GiB per phase, capacity, limit and verdict of each pool, and what is missing."""
    pools: dict[str, Any] = {pool.pool: _pool(pool) for pool in (estimate.gpu, estimate.host) if pool and pool.phases}
    return {**pools, "missing": list(estimate.missing)}


def _pool(pool: PoolEstimate) -> dict[str, Any]:
    phases = [
        {
            "phase": phase.phase,
            "moment": phase.moment,
            "gib": round(to_gib(phase.bytes), 2),
            "low": round(to_gib(phase.low), 2),
            "high": round(to_gib(phase.high), 2),
        }
        for phase in pool.phases
    ]
    return {
        "phases": phases,
        "peak": pool.peak.phase,
        "capacity": _gib(pool.capacity),
        "limit": _gib(pool.limit),
        "limit_why": pool.limit_why,
        "verdict": pool.verdict(),
    }


def _gib(size: int | None) -> float | None:
    return None if size is None else round(to_gib(size), 2)
