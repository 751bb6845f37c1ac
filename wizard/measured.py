"""What the log measured, beside the estimate of the same thing: the rows of a table, and what grows from step to step."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.text import capfirst

from diagnose.types import Compared, Diagnosis
from diagnose.units import tenths
from diagnose.words.measured import counter_words, growth_words, shown, signed, unheld

MOST = 14


@dataclass(frozen=True, slots=True)
class Row:
    """``label`` is what the log itself calls the moment. Sizes are in GiB."""

    title: str
    label: str
    printed: str
    estimate: str
    difference: str
    line: int


def rows(diagnosis: Diagnosis) -> tuple[Row, ...]:
    compared = diagnosis.estimate.compared or unheld(diagnosis.facts.measured)
    return tuple(_row(one) for one in shown(compared, MOST))


def _row(one: Compared) -> Row:
    size = _gib(one.measured.bytes) if one.measured.bytes or not one.measured.tokens else ""
    tokens = f"{one.measured.tokens:,} tokens" if one.measured.tokens else ""
    return Row(
        title=capfirst(counter_words(one.measured)),
        label=tokens or _label(one),
        printed=size,
        estimate=_gib(one.estimate) if one.estimate is not None else "",
        difference=signed(one.difference) if one.difference is not None else "",
        line=one.measured.span.line,
    )


def _label(one: Compared) -> str:
    counts = one.measured.with_engine and one.estimate is None
    return f"{one.measured.title}{'; may count an engine of the same process' if counts else ''}"


def grown(diagnosis: Diagnosis) -> tuple[tuple[str, int], ...]:
    """Each growth as a sentence, with the line of its last reading."""
    return tuple((growth_words(one, diagnosis.estimate), one.span.line) for one in diagnosis.facts.growth)


def _gib(size: int) -> str:
    return f"{tenths(size) / 10:,.1f}"
