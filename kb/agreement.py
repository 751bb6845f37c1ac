"""Where the estimates agree with what people reported, and where not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Case as CaseExpression
from django.db.models import Count, F, FloatField, Q, QuerySet, Value, When
from django.db.models.functions import Abs
from django.urls import reverse

from diagnose.knowledge.records import Case as Record
from diagnose.knowledge.records import Fix
from diagnose.vocabulary import POOL_OF_KIND
from diagnose.words.figures import NBSP
from kb.case_page import reported
from kb.models import CaseEstimate, Document

# How a verdict stands to the report.
AGREE, CLOSE, UNSAFE, CAREFUL = "agree", "close", "unsafe", "careful"
CALLS = {
    AGREE: "agrees",
    CLOSE: "too close to call",
    UNSAFE: "said to fit, ran out",
    CAREFUL: "said to run out, fitted",
}
WORST = 25


@dataclass(frozen=True)
class Row:
    """One estimate beside its report."""

    case: Document
    href: str
    moment: str
    call: str
    apart: float | None

    @property
    def apart_words(self) -> str:
        """``−69 %``: how far the estimate lies above or below the report; nothing where none was measured."""
        return "" if self.apart is None else f"{self.apart:+.0%}".replace("-", "−").replace("%", f"{NBSP}%")


def call(record: Record, fix: Fix | None, result: Mapping[str, Any]) -> str:
    """The word for a verdict: of the pool that the case names as it failed; of the same pool after a fix that worked or did not.

    What fits only if a guess of ours holds is promised to nobody.
    """
    pool = result.get(POOL_OF_KIND.get(str(record.facts.get("oom_kind")), ""))
    if not pool or pool["verdict"] == "unknown" or (fix and fix.worked is None):
        return ""
    if pool["verdict"] == "close" or (pool["verdict"] == "fits" and pool["guessed"]):
        return CLOSE
    ran_out = fix is None or fix.worked is False
    if (pool["verdict"] == "out") == ran_out:
        return AGREE
    return UNSAFE if ran_out else CAREFUL


def apart(record: Record, fix: Fix | None, result: Mapping[str, Any]) -> float | None:
    """How far the estimate is above what the report measured, as a share of that; of the phase that failed, where one is told."""
    name = POOL_OF_KIND.get(str(record.facts.get("oom_kind")), "")
    pool = result.get(name)
    measured = reported("Host" if name == "host" else "GPU", record.facts)
    if fix or not pool or not measured:
        return None
    phases = {phase["phase"]: phase["gib"] for phase in pool["phases"]}
    return float(phases.get(record.facts.get("phase"), phases[pool["peak"]]) / measured - 1)


def summary(rows: QuerySet[CaseEstimate]) -> dict[str, Any]:
    """Counts of each word, and how far measured figures are apart; one query."""
    counts = {word: Count("pk", filter=Q(call=word)) for word in CALLS}
    near = {f"within_{share}": Count("pk", filter=_within(share / 100)) for share in (10, 30)}
    return rows.aggregate(**counts, measured=Count("apart"), **near)


def worst(rows: QuerySet[CaseEstimate]) -> list[Row]:
    """The estimates that are furthest from their reports: those said to fit that ran out first, then by how far apart they are."""
    order = CaseExpression(When(call=UNSAFE, then=Value(0)), When(call=CAREFUL, then=Value(1)), default=Value(2))
    found = (
        rows.filter(Q(call__in=(UNSAFE, CAREFUL)) | Q(apart__isnull=False))
        .annotate(order=order, far=Abs(F("apart"), output_field=FloatField()))
        .order_by("order", F("far").desc(nulls_last=True), "case__slug", "moment")
        .select_related("case")
        .defer("result", "case__text", "case__html")
    )
    return [
        Row(row.case, reverse("kb:case", args=[row.case.slug]), row.moment, CALLS.get(row.call, ""), row.apart)
        for row in found[:WORST]
    ]


def _within(share: float) -> Q:
    return Q(apart__gte=-share, apart__lte=share)
