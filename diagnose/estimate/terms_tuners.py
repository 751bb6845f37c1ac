"""Whole matrices of tuners as terms."""

from __future__ import annotations

from diagnose.estimate import tuners
from diagnose.estimate.plan import Plan
from diagnose.estimate.term import make_term
from diagnose.types import Term


def tuner_matrices(plan: Plan, layers: int) -> list[Term]:
    """Whole matrices that tuners make in each pass."""
    if not plan.adapters or not tuners.kind(plan.model, plan.values):
        return []
    each = tuners.kept_bytes(plan.model, plan.values)
    how, title = f"{each:,.0f} B × {layers} layers", "matrices of the tuners"
    return [make_term("tuner_matrices", title, "work", each * layers, how, tuners.SOURCE, ("gradient_checkpointing",))]
