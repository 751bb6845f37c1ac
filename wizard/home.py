"""The first page: one worked example, a sentence to fill in, and ways to browse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from diagnose import words as core
from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Case
from diagnose.pipeline import diagnose
from diagnose.vocabulary import KINDS
from diagnose.words.headline import headline
from kb.cases import Counts
from kb.evidence import marks_of
from kb.facets import trainers
from wizard import advice, fit_form, fit_settings, near, words
from wizard.chart import columns, drawing
from wizard.chart.columns import SMALL
from wizard.pictures import pictures

EXAMPLE = Path(__file__).with_name("example.txt")  # written after https://github.com/Unakar/Logic-RL/issues/8
LATELY = 3


@dataclass(frozen=True, slots=True)
class _Held:
    """The key of the cache: the very same knowledge and cases. It holds them, so that their ids stay theirs."""

    ids: tuple[int, int, int]
    knowledge: Knowledge = field(compare=False)
    cases: Sequence[Case] = field(compare=False)
    counts: Counts = field(compare=False)


def context(knowledge: Knowledge, cases: Sequence[Case], counts: Counts) -> dict[str, Any]:
    """What the first page shows; all but the stored pictures is computed once for the same knowledge and cases."""
    kept = _context(_Held((id(knowledge), id(cases), id(counts)), knowledge, cases, counts))
    drawn = pictures(row["case"] for row in kept["lately"])
    return {**kept, "lately": [{**row, "picture": drawn[row["case"].slug]} for row in kept["lately"]]}


@lru_cache(maxsize=4)
def _context(held: _Held) -> dict[str, Any]:
    knowledge, cases, counts = held.knowledge, held.cases, held.counts
    frameworks = _frameworks(knowledge, counts)
    return {
        "example": _example(knowledge, cases),
        "sentence": _sentence(knowledge, frameworks),
        "lists": _lists(_kinds(knowledge, counts), frameworks),
        "lately": [_row(case, trainers(knowledge)) for case in _confirmed(cases)],
        "count": counts.total,
    }


def _sentence(knowledge: Knowledge, frameworks: Sequence[tuple[str, str, int]]) -> SafeString:
    """The form to fill in; its lists hold every model and card."""
    start = fit_settings.start()
    context = {
        "algos": fit_form.ALGOS,
        "models": [model.title for model in knowledge.models.values()],
        "frameworks": frameworks,
        "cards": fit_form.cards(knowledge),
        "start": start,
        "start_card": f"{start.get('gpu_model')}:{start.get('gpu_mem_gib')}",
    }
    return render_to_string("wizard/_sentence.html", context)


def _lists(kinds: Sequence[tuple[str, str, int, bool]], frameworks: Sequence[tuple[str, str, int]]) -> SafeString:
    return render_to_string("wizard/_lists.html", {"kinds": kinds, "frameworks": frameworks})


def _example(knowledge: Knowledge, cases: Sequence[Case]) -> dict[str, Any] | None:
    """The example, diagnosed as any other paste; None where the knowledge cannot estimate it."""
    text = EXAMPLE.read_text(encoding="utf-8")
    diagnosis = diagnose(text, {}, knowledge, cases)
    pool = diagnosis.estimate.gpu
    if pool is None or not pool.phases:
        return None
    phase = core.worst(diagnosis, pool)
    drawn = drawing(pool, phase.phase, words.ceiling_words(pool, diagnosis.facts).removeprefix("one "))
    return {
        "chart": columns(drawn, SMALL),
        "headline": headline(diagnosis),
        "lead": core.lead(diagnosis),
        "first": next(iter(advice.prescriptions(diagnosis, words.names_of(cases))), None),
        "text": text,
        "lines": text.count("\n"),
    }


def _kinds(knowledge: Knowledge, all_cases: Counts) -> list[tuple[str, str, int, bool]]:
    """Kind, the line that most people see of it, how many cases, whether the words are a program's; the kinds with cases first."""
    counts = Counter(all_cases.kinds)
    counts["other"] += counts.pop("", 0)
    rows = []
    for kind, title in KINDS.items():
        line = next((one.title for one in knowledge.signatures.values() if one.kind == kind and one.usual), "")
        if counts[kind] or line:
            rows.append((kind, line or capfirst(title), counts[kind], bool(line)))
    return sorted(rows, key=lambda row: -row[2])


def _frameworks(knowledge: Knowledge, all_cases: Counts) -> list[tuple[str, str, int]]:
    known = [
        (slug, record.title, all_cases.frameworks.get(slug, 0))
        for slug, record in knowledge.frameworks.items()
        if not record.fallback
    ]
    return sorted(known, key=lambda row: (-row[2], row[1].lower()))


def _confirmed(cases: Sequence[Case]) -> list[Case]:
    """The newest cases in which somebody said that a remedy worked."""
    worked = [case for case in cases if any(fix.worked for fix in case.fixes)]
    return sorted(worked, key=lambda case: case.date or date.min, reverse=True)[:LATELY]


def _row(case: Case, frameworks: dict[str, str]) -> dict[str, Any]:
    return {"case": case, "tags": near.tags(case, frameworks), "marks": marks_of(*case.fixes)}
