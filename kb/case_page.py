"""One case: what is claimed and what holds, what was tried, the facts, and the estimate against the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Case as Record
from diagnose.knowledge.records import Claim, Fix
from diagnose.vocabulary import FACTS, PHASES, POOL_OF_KIND, Value
from diagnose.words import in_sentence, value_words
from kb.evidence import Mark, marks_of
from kb.facets import slug_of, trainers
from kb.markdown import as_rendered
from kb.models import CaseEstimate, Document
from kb.sections import source_name

VERDICTS = {
    "confirmed": ("c", "w", "Confirmed"),
    "contradicted": ("x", "f", "Contradicted"),
    "without_ground": ("n", "n", "Without ground"),
    "suggested": ("s", "s", "Only suggested"),
}
SPEAKERS = {"reporter": "the reporter", "maintainer": "a maintainer", "other": "another user"}


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict: the class, the symbol and the word."""

    claim: Claim
    css: str
    symbol: str
    word: str
    source: str


@dataclass(frozen=True)
class Trial:
    """A fix with its outcome; ``title`` is the lever's."""

    fix: Fix
    title: str
    marks: tuple[Mark, ...]
    by: str


@dataclass(frozen=True)
class FactRow:
    title: str
    words: str
    href: str = ""


@dataclass(frozen=True)
class Comparison:
    """One pool: GiB by estimate, its band, GiB by report, and what the two say of each other."""

    title: str
    phase: str
    estimate: float
    low: float
    high: float
    reported: float | None
    says: str
    failed: bool


def page(case: Document, record: Record, estimate: CaseEstimate | None, knowledge: Knowledge) -> dict[str, Any]:
    """What the case's template needs."""
    framework = knowledge.frameworks.get(case.framework)
    result = estimate.result if estimate and estimate.is_of(case) else {}
    return {
        "section": "cases",
        "case": case,
        "record": record,
        "body": as_rendered(case.html),
        "framework": framework,
        "claims": claims_of(record),
        "trials": trials_of(record, knowledge),
        "groups": fact_groups(record.facts, knowledge),
        "told": len(record.facts),
        "sources": [(address, source_name(address)) for address in record.sources],
        "estimate": estimate,
        "outdated": estimate is not None and not estimate.is_of(case),
        "comparisons": comparisons(result, case),
        "missing": [in_sentence(FACTS[id].title) for id in result.get("missing", []) if id in FACTS],
    }


def claims_of(record: Record) -> list[Judged]:
    """The claims with their verdicts as words and marks."""
    return [_judged(claim) for claim in record.claims]


def trials_of(record: Record, knowledge: Knowledge) -> list[Trial]:
    """The fixes with what came of each."""
    return [_trial(fix, knowledge) for fix in record.fixes]


def fact_groups(facts: Mapping[str, Value], knowledge: Knowledge) -> dict[str, list[FactRow]]:
    """The facts under their groups, in the vocabulary's order, with links into the catalogue."""
    groups: dict[str, list[FactRow]] = {}
    for id, spec in FACTS.items():
        if id in facts:
            row = FactRow(spec.title, value_words(id, facts[id]), _href(id, facts[id], knowledge))
            if id == "framework":
                row = FactRow(spec.title, trainers(knowledge).get(str(facts[id]), row.words), row.href)
            groups.setdefault(spec.group, []).append(row)
    return groups


def comparisons(result: Mapping[str, Any], case: Document) -> list[Comparison]:
    """Each estimated pool beside what the report measured of it, the failing pool first."""
    rows = []
    for pool, title in (("gpu", "GPU"), ("host", "Host")):
        if estimated := result.get(pool):
            rows.append(_compare(title, estimated, case, POOL_OF_KIND.get(case.oom_kind) == pool))
    return sorted(rows, key=lambda row: not row.failed)


def reported(title: str, facts: Mapping[str, Value]) -> float | None:
    """GiB that the report measured: what the process held and asked for, or what was used on the node."""
    number = {id: float(value) for id, value in facts.items() if isinstance(value, (int, float))}
    if title == "Host":
        return number.get("node_used_gb")
    held = number.get("process_gib")
    if held is None and "gpu_total_gib" in number and "gpu_free_gib" in number:
        held = number["gpu_total_gib"] - number["gpu_free_gib"]
    return None if held is None else held + number.get("tried_alloc_gib", 0.0)


def _compare(title: str, pool: Mapping[str, Any], case: Document, failed: bool) -> Comparison:
    phases = {phase["phase"]: phase for phase in pool["phases"]}
    phase = phases.get(case.phase) if failed else None
    phase = phase or phases[pool["peak"]]
    seen = reported(title, case.facts)
    return Comparison(
        title=title,
        phase=PHASES.get(phase["phase"], phase["phase"]),
        estimate=phase["gib"],
        low=phase["low"],
        high=phase["high"],
        reported=seen,
        says=_says(phase, seen),
        failed=failed,
    )


def _says(phase: Mapping[str, float], seen: float | None) -> str:
    if seen is None:
        return "nothing to compare"
    if phase["low"] <= seen <= phase["high"]:
        return "agree: the report lies in the band"
    side = "above" if seen > phase["gib"] else "below"
    return f"disagree by {abs(seen - phase['gib']):,.1f}: the report lies {side} the estimate"


def _judged(claim: Claim) -> Judged:
    return Judged(claim, *VERDICTS[claim.verdict], source=source_name(claim.source) if claim.source else "")


def _trial(fix: Fix, knowledge: Knowledge) -> Trial:
    lever = knowledge.levers.get(fix.lever)
    verb = "told by" if fix.worked is not None else "suggested by"
    return Trial(fix, lever.title if lever else fix.lever, marks_of(fix), f"{verb} {SPEAKERS.get(fix.by, fix.by)}")


def _href(id: str, value: Value, knowledge: Knowledge) -> str:
    """The catalogue's page of a framework, a GPU or a model, found by its slug, title or alias."""
    if id == "framework" and value in knowledge.frameworks:
        return reverse("kb:framework", args=[value])
    pages = {"gpu_model": ("kb:gpu", "gpus"), "model": ("kb:model", "models")}
    if id not in pages:
        return ""
    page, kind = pages[id]
    slug = slug_of(kind, str(value), knowledge)
    return reverse(page, args=[slug]) if slug else ""
