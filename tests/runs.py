"""A run as a diagnosis sees it before it advises: for tests of what is read and estimated, since advice takes five times as long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from diagnose.ingest import read
from diagnose.knowledge import Knowledge, current
from diagnose.pipeline import facts_and_estimate
from diagnose.types import Estimate, Facts
from diagnose.vocabulary import Value


@dataclass(frozen=True)
class Run:
    """The facts and the estimate of a diagnosis; it has no advice that a test could find empty."""

    facts: Facts
    estimate: Estimate


def run_of(text: str, answers: Mapping[str, Value] | None = None, knowledge: Knowledge | None = None) -> Run:
    """The run of a paste and answers, by what ships where nothing else is given."""
    return Run(*facts_and_estimate(read(text), answers or {}, knowledge or current()))
