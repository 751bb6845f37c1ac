"""Of very many cases, those that are worth a closer look: found by their indexed columns and printed figures, then weighed by all facts.

Up to ``cases.WHOLE`` cases a diagnosis looks at every one. Beyond, each diagnosis asks the base for the nearest ``CLOSE``, so that its time
and the memory of a process do not grow with the base. What counts as near is decided by ``diagnose.match``; this only chooses whom it sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db.models import FloatField, QuerySet
from django.db.models.expressions import RawSQL

from diagnose.knowledge import current
from diagnose.knowledge.records import Case as Record
from diagnose.match import WEIGHTS
from diagnose.pipeline import Cases
from diagnose.types import Facts
from diagnose.vocabulary import KINDS, NUMBERS
from kb import cases, facets
from kb.models import DocumentQuerySet, Entry

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

WIDE, CLOSE = 400, 100
FIGURES, EACH = 6, 20  # printed figures that are looked up, and cases taken for each
_FIGURE_WEIGHT = 2.5


def near(user: AbstractBaseUser | AnonymousUser | None) -> Cases:
    """What a diagnosis for ``user`` may look at: all cases, or a way to find the near ones where there are very many."""
    if cases.counts(user).total <= cases.WHOLE:
        return cases.cases_for(user)
    return partial(nearest, cases.visible(user))


def nearest(rows: DocumentQuerySet, facts: Facts, text: str) -> tuple[Record, ...]:
    """The ``CLOSE`` cases among ``rows`` that share most with these facts, by slug."""
    found: dict[int, tuple[Any, ...]] = {}
    for circle in _circles(rows, facts):
        found = {row[0]: row for row in _told(rows.filter(pk__in=_by_columns(circle, facts)))}
        if len(found) >= WIDE:
            break
    if more := _by_figures(rows, facts) - found.keys():
        found |= {row[0]: row for row in _told(rows.filter(pk__in=more))}
    best = sorted(found.values(), key=lambda row: (-_shared(row[1], facts), -row[0]))[:CLOSE]
    return cases.read([(slug, digest) for _, _, slug, digest in best])


def _circles(rows: DocumentQuerySet, facts: Facts) -> Iterator[DocumentQuerySet]:
    """Those of the same failure in the same framework, which stand side by side in the index, and those of the same failure.

    The second is asked only where the first holds too few: to weigh the 20,000 that 100,000 may hold takes longer than the diagnosis.
    """
    kind, framework = facts.values.get("oom_kind"), facts.values.get("framework")
    settled = kind not in (None, "other")  # another kind is another illness
    kinds = (kind, "") if settled else (*KINDS, "")
    if framework:
        yield rows.filter(oom_kind__in=kinds, framework=framework)
    yield rows.filter(oom_kind__in=kinds) if settled else rows


def _told(rows: DocumentQuerySet) -> Iterable[tuple[int, dict[str, object], str, str]]:
    return rows.order_by().values_list("pk", "facts", "slug", "digest")


def _by_columns(rows: DocumentQuerySet, facts: Facts) -> QuerySet[Any, Any]:
    """By what the index ``near_cases`` holds, so that the table itself is not read; to be asked as a part of another query."""
    values, knowledge = facts.values, current()
    wanted = {
        "oom_kind": (values.get("oom_kind"), WEIGHTS["oom_kind"]),
        "framework": (values.get("framework"), WEIGHTS["framework"]),
        "phase": (values.get("phase"), WEIGHTS["phase"]),
        "gpu_model": (facets.gpu_model(values, knowledge), WEIGHTS["gpu_model"]),
        "model_size": (facets.model_size(values, knowledge), WEIGHTS["params_b"]),
    }
    told = {column: value for column, (value, _) in wanted.items() if value}
    if not told:
        return rows.order_by("-pk").values("pk")[:WIDE]
    # Written out, as in kb.around: expressions of the ORM take longer to say.
    sum_of = " + ".join(f"CASE WHEN {column} = %s THEN {wanted[column][1]} ELSE 0 END" for column in told)
    points = RawSQL(sum_of, tuple(told.values()), output_field=FloatField())
    return rows.annotate(points=points).order_by("-points", "-pk").values("pk")[:WIDE]


def _by_figures(rows: DocumentQuerySet, facts: Facts) -> set[int]:
    """Cases that print the very same figure: two runs hardly ever do."""
    printed = [(id, facts.values[id]) for id in NUMBERS if id in facts.values and id != "step"]
    found: set[int] = set()
    for id, value in printed[:FIGURES]:
        entries = Entry.objects.exclude(document=None).having(((((id, False), (str(value), False)),),))
        found.update(rows.filter(pk__in=entries.values("document")).order_by("-pk").values_list("pk", flat=True)[:EACH])
    return found


def _shared(there: dict[str, object], facts: Facts) -> float:
    same = (id for id, value in there.items() if facts.values.get(id) == value)
    return sum(WEIGHTS.get(id, _FIGURE_WEIGHT if id in NUMBERS else 0.0) for id in same)
