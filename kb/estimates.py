"""The estimates stored for cases: which are out of date, and how they are made again.

The work list is the database: a case whose newest text, whose engine or whose knowledge is not that of its stored estimate. A chunk
that is run twice changes nothing, and a run that is killed leaves the rest of the list for the next. A case that takes its worker with
it each time is given up, see ``_suspects``.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from django.db import transaction
from django.db.models.functions import Now

import diagnose
from diagnose.knowledge import Knowledge, current
from diagnose.knowledge.records import Case as Record
from diagnose.knowledge.records import Fix
from diagnose.pipeline import estimate_case
from diagnose.types import Estimate, PoolEstimate
from diagnose.units import to_gib
from kb import agreement, documents
from kb.models import CaseEstimate, Document, DocumentQuerySet, Refresh

if TYPE_CHECKING:
    from django.contrib.auth.models import User

CHUNK = 100
DEATHS = 2  # of workers over one case alone, after which it is not tried again until something changes
# Seconds that one message works; what is left is asked for by the next. A worker that is told to end comes to the end of its
# message first, within what ``make run`` (10 s) and docker-compose.yml (30 s) wait before they kill it.
LONGEST = 5.0
log = logging.getLogger(__name__)


@cache
def engine_digest() -> str:
    """Of the sources under ``diagnose/``: a changed formula makes every stored estimate old."""
    folder = Path(diagnose.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def out_of_date(knowledge: Knowledge) -> DocumentQuerySet:
    """The cases that wait for an estimate: the work list."""
    return Document.objects.cases().exclude(state=Document.TRASH).with_old_estimate(engine_digest(), knowledge.digest)


def stale(knowledge: Knowledge) -> int:
    """How many they are."""
    return out_of_date(knowledge).count()


def begin(user: User | None, knowledge: Knowledge | None = None) -> Refresh | None:
    """A new run; None where nothing is out of date or somebody works on it already."""
    knowledge = knowledge or current()
    with transaction.atomic():
        newest = Refresh.objects.select_for_update().newest()
        if newest and newest.lives:
            return None
        alone = _suspects(newest, knowledge) if newest and not newest.ended else {}
        Refresh.objects.filter(ended=None).update(ended=Now())
        if not (total := stale(knowledge)):
            return None
        run = Refresh.objects.create(started_by=user, total=total, alone=alone, seen=Now())
        Refresh.objects.filter(pk=run.pk).update(started=Now())
        return Refresh.objects.get(pk=run.pk)


def refresh(
    run: Refresh | None = None, knowledge: Knowledge | None = None, longest: float = math.inf
) -> Refresh | None:
    """Works through what is out of date for about ``longest`` seconds, in a run that was begun or in a new one.

    The run that is to be gone on with; None when everything is done, somebody else does it, or the run was stopped.
    """
    knowledge = knowledge or current()
    run = run or begin(None, knowledge)
    if run is None or run.ended:
        return None
    until, last = time.monotonic() + longest, 0
    while chunk := _next(run, last, knowledge):
        failed, last = _store(chunk, knowledge), chunk[-1].pk
        if not _tell(run, len(chunk), failed):
            return None
        if time.monotonic() > until:
            return run
    Refresh.objects.filter(pk=run.pk).update(total=run.done, ended=Now())
    return None


def stop(run: Refresh) -> None:
    """Ends a run after its present chunk. What it did stays."""
    Refresh.objects.filter(pk=run.pk, ended=None).update(stop=True)


def chunk_size(total: int) -> int:
    """Progress is told to one per cent, and never by more than ``CHUNK`` cases at once."""
    return min(CHUNK, max(1, total // 100))


def _next(run: Refresh, last: int, knowledge: Knowledge) -> list[Document]:
    """The cases after ``last`` that are estimated at once, written down beforehand; one that a worker died over comes alone."""
    found = list(out_of_date(knowledge).filter(pk__gt=last).defer("html")[: chunk_size(run.total)])
    chunk = list(takewhile(lambda case: _try(case, knowledge) not in run.alone, found)) or found[:1]
    if chunk:
        Refresh.objects.filter(pk=run.pk).update(at=[_try(case, knowledge) for case in chunk])
    return chunk


def _try(case: Document, knowledge: Knowledge) -> str:
    """The case as it is tried now: another text, engine or knowledge makes another try of it, without the deaths of this one."""
    return f"{case.pk} {case.digest} {engine_digest()} {knowledge.digest}"


def _suspects(dead: Refresh, knowledge: Knowledge) -> dict[str, int]:
    """The cases that the run after a dead one estimates one by one, with how many workers died over each alone.

    Whoever killed the worker may have been somebody else, so that a case gets as many more tries as ``DEATHS`` says. Then its
    estimate has failed, or it would keep all cases behind it out of date for good.
    """
    alone = {**dead.alone, **{one: dead.alone.get(one, -1) + 1 for one in dead.at}}
    given_up = {one for one, deaths in alone.items() if deaths >= DEATHS}
    for case in Document.objects.filter(pk__in=[one.split()[0] for one in given_up]):
        if _try(case, knowledge) in given_up:
            why = f"the worker process ended {DEATHS + 1} times while it was at this case; its log or the kernel's says why"
            row = CaseEstimate(
                moment=CaseEstimate.AS_IT_FAILED, status="failed", why=why, **_made_from(case, knowledge)
            )
            _keep([case], [row])
    return {one: deaths for one, deaths in alone.items() if one not in given_up}


def _tell(run: Refresh, done: int, failed: int) -> bool:
    """Writes the progress down; False where somebody stopped the run, or where another worker goes on with it."""
    as_it_was = Refresh.objects.filter(pk=run.pk, done=run.done, ended=None)
    run.done, run.failed = run.done + done, run.failed + failed
    run.total = max(run.total, run.done)
    if not as_it_was.update(done=run.done, failed=run.failed, total=run.total, seen=Now(), at=[]):
        return False
    return not Refresh.objects.filter(pk=run.pk, stop=True, ended=None).update(ended=Now())


def _store(chunk: list[Document], knowledge: Knowledge) -> int:
    """Estimates every moment of these cases and keeps them in one statement; how many failed."""
    rows = [row for case in chunk for row in _moments(case, knowledge)]
    _keep(chunk, rows)
    return sum(row.status == "failed" and row.moment == CaseEstimate.AS_IT_FAILED for row in rows)


def _keep(chunk: list[Document], rows: list[CaseEstimate]) -> None:
    with transaction.atomic():
        CaseEstimate.objects.filter(case__in=chunk).exclude(moment__in={row.moment for row in rows}).delete()
        CaseEstimate.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["case", "moment"],
            update_fields=[
                "case_digest", "engine_digest", "knowledge_digest", "status", "why", "result", "call", "apart", "updated",
            ],
        )  # fmt: skip


def _made_from(case: Document, knowledge: Knowledge) -> dict[str, Any]:
    """What an estimate is of; when one of it moves, the estimate is old."""
    return {
        "case": case,
        "case_digest": case.digest,
        "engine_digest": engine_digest(),
        "knowledge_digest": knowledge.digest,
    }


def _moments(case: Document, knowledge: Knowledge) -> Iterator[CaseEstimate]:
    """As it failed, and with the settings of each fix that tells them."""
    made = _made_from(case, knowledge)
    try:
        record = cast(Record, documents.read(case.kind, case.slug, case.text, knowledge))
    except Exception as misfit:  # one case must not keep the others from being estimated; the page shows the reason
        yield _failed(case, made, CaseEstimate.AS_IT_FAILED, misfit)
        return
    moments: list[tuple[str, Fix | None]] = [(CaseEstimate.AS_IT_FAILED, None)]
    moments += [(f"fix {number}", fix) for number, fix in enumerate(record.fixes, 1) if fix.facts]
    for moment, fix in moments:
        try:
            after = replace(record, facts={**record.facts, **fix.facts}) if fix else record
            result = small(estimate_case(after, knowledge))
            says = {"call": agreement.call(record, fix, result), "apart": agreement.apart(record, fix, result)}
            yield CaseEstimate(moment=moment, status="done", result=result, **made, **says)
        except Exception as misfit:
            yield _failed(case, made, moment, misfit)


def _failed(case: Document, made: dict[str, Any], moment: str, misfit: Exception) -> CaseEstimate:
    log.exception("no estimate for case %s, %s", case.slug, moment)
    return CaseEstimate(moment=moment, status="failed", why=f"{type(misfit).__name__}: {misfit}", **made)


def small(estimate: Estimate) -> dict[str, Any]:
    """What lists and case pages show: GiB per phase, capacity, limit and verdict of each pool, and what is missing."""
    pools: dict[str, Any] = {
        pool.pool: {**_pool(pool), "guessed": list(estimate.guessed(pool.pool))}
        for pool in (estimate.gpu, estimate.host)
        if pool and pool.phases
    }
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
