"""One family of log lines as tables: what each figure counts, at which moment, and which words settle the phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diagnose.knowledge.log import Label, Log, Measure
from diagnose.vocabulary import FACTS, PHASES
from diagnose.vocabulary.measured import COUNTERS, MOMENTS
from kb import rules_in_words

_UNITS = {
    "printed": "as printed",
    "binary": "as printed, KB, MB and GB in powers of 1024",
    "gib": "GiB",
    "mib": "MiB",
    "": "a count",
}


@dataclass(frozen=True)
class Figure:
    """``written`` is the key of a metric or the pattern of a line."""

    what: str
    written: str
    unit: str
    when: str
    apart: tuple[str, ...]


@dataclass(frozen=True)
class Named:
    words: tuple[str, ...]
    phase: str
    moment: str


def page(log: Log) -> dict[str, Any]:
    """What the template needs beside the record."""
    return {"figures": [_figure(one) for one in log.measures], "labels": [_named(one) for one in log.labels]}


def _figure(measure: Measure) -> Figure:
    when = [PHASES.get(measure.phase, ""), MOMENTS.get(measure.moment, "") if measure.counter else ""]
    apart = tuple("; ".join(rules_in_words.conditions(rules)) for rules in measure.apart)
    return Figure(
        what=COUNTERS[measure.counter] if measure.counter else FACTS[measure.fact].title,
        written=measure.key or measure.pattern.pattern,
        unit=_UNITS.get(measure.unit, measure.unit),
        when=", ".join(words for words in when if words),
        apart=apart,
    )


def _named(label: Label) -> Named:
    return Named(label.words, PHASES.get(label.phase, label.phase), MOMENTS.get(label.moment, ""))
