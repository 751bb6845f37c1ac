"""The small picture beside each case, from the estimates that are stored for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from diagnose.knowledge.records import Case
from kb.mini import Mini, mini
from kb.models import CaseEstimate, Document


def pictures(cases: Iterable[Case]) -> dict[str, Mini | None]:
    """Slug → picture; None where a case has no estimate. One query."""
    wanted = {case.slug: str(case.facts.get("oom_kind", "")) for case in cases}
    stored = CaseEstimate.objects.filter(
        case__kind=Document.CASES, case__slug__in=wanted, moment=CaseEstimate.AS_IT_FAILED, status="done"
    )
    results: dict[str, dict[str, Any]] = dict(stored.values_list("case__slug", "result"))
    return {slug: mini(results.get(slug, {}), kind) for slug, kind in wanted.items()}
