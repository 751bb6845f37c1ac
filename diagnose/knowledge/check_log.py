"""The words of a log record against the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator

from diagnose import vocabulary
from diagnose.knowledge.check_pattern import may_hang
from diagnose.knowledge.check_words import word_misfits
from diagnose.knowledge.loader import Problem
from diagnose.knowledge.log import Log, Measure
from diagnose.units import PRINTED


def check_log(log: Log) -> list[Problem]:
    """Everything that is wrong with one record."""
    place = f"logs/{log.slug}.md"
    problems = []
    for literal in (one for alternative in log.literals for one in alternative):
        if literal != literal.lower():
            problems.append(Problem(f"{place}: literals", f"“{literal}” has capitals: write it in lower case"))
    for i, measure in enumerate(log.measures):
        problems += _measure(place, f"measure[{i}]", measure)
    for i, label in enumerate(log.labels):
        problems += word_misfits(place, f"label[{i}].phase", label.phase, vocabulary.PHASES)
        if label.moment:
            problems += word_misfits(place, f"label[{i}].moment", label.moment, vocabulary.MOMENTS)
        for counter in label.peak:
            problems += word_misfits(place, f"label[{i}].peak", counter, vocabulary.COUNTERS)
    if not any(example.reads or example.facts for example in log.examples):
        problems.append(
            Problem(
                f"{place}: example",
                "none says what it reads, as reads = ['rollout now device 61.50'], or which facts: add one",
            )
        )
    return problems


def _measure(place: str, where: str, measure: Measure) -> Iterator[Problem]:
    if bool(measure.counter) == bool(measure.fact):
        yield Problem(f"{place}: {where}", "must have either a counter or a fact")
    if measure.counter:
        yield from word_misfits(place, f"{where}.counter", measure.counter, vocabulary.COUNTERS)
    if measure.fact:
        yield from word_misfits(place, f"{where}.fact", measure.fact, vocabulary.FACTS)
    if measure.phase:
        yield from word_misfits(place, f"{where}.phase", measure.phase, vocabulary.PHASES)
    yield from word_misfits(place, f"{where}.moment", measure.moment, vocabulary.MOMENTS)
    yield from word_misfits(place, f"{where}.unit", measure.unit, (*PRINTED, "printed", "binary"))
    for id in (id for conditions in measure.apart for id in conditions):
        yield from word_misfits(place, f"{where}.apart", id, vocabulary.FACTS)
    if not measure.key and "size" not in measure.pattern.groupindex:
        yield Problem(f"{place}: {where}", "must have a key, or a pattern with a group “size”")
    if misfit := may_hang(measure.pattern.pattern):
        yield Problem(f"{place}: {where}.pattern", misfit)
