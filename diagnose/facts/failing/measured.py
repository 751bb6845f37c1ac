"""What the log itself measured: every figure of a known line with its counter, phase, moment and step.

Which lines these are, in which unit they print and what their words settle stands in ``content/logs/``. Of one thing the largest
reading is kept; all of them make the series in which growth is looked for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from diagnose.conditions import holds
from diagnose.facts.failing.growth import Point, growth
from diagnose.facts.failing.steps import OF_COUNTERS, counted
from diagnose.facts.sentences.lowered import Lowered
from diagnose.facts.sentences.prose import span_of
from diagnose.facts.settings import written
from diagnose.knowledge.log import Log, Measure
from diagnose.types import Fact, Growth, Line, Measured, Paste, Span
from diagnose.units import PRINTED, parse_size
from diagnose.vocabulary import FACTS, PHASES, Value, pool_of

_MOST = 40  # readings that are kept
_LABEL = 60  # characters of a label that are shown
_ABSURD = 1e15  # a figure beyond this is damaged, whatever its unit
_IDLE = 64 * PRINTED["mib"]  # an idle card says nothing of a run
_ABOVE = 2  # lines up to which a label stands above its figures
_BINARY = {f"{letter}b": PRINTED[f"{letter}ib"] for letter in "kmgt"}
_SIZE = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s*([A-Za-z]+)", re.A)
# a report of so many iterations
_AFTER = re.compile(r"\(after (\d{1,7}) iterations\)", re.A)


@dataclass
class Readings:
    """What was found: the largest of each thing, the series of each, the facts that metrics give, and what figures of nothing mean."""

    measured: dict[tuple[object, ...], Measured] = field(default_factory=dict)
    series: dict[tuple[object, ...], list[Point]] = field(default_factory=lambda: defaultdict(list))
    facts: dict[str, Fact] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)  # by fact: its first figure, where the largest came later
    told: Growth | None = None  # what a person tells of the steps

    def lengths(self) -> tuple[float, float]:
        """The first mean length of answers and the longest one; noughts where the log tells none."""
        longest = self.facts.get("real_response_length")
        return self.first.get("real_response_length", 0.0), float(longest.value) if longest else 0.0

    def of(self) -> tuple[Measured, ...]:
        """In the order of a step, what no phase settles last."""
        order = {phase: place for place, phase in enumerate(PHASES)}
        found = sorted(self.measured.values(), key=lambda one: (order.get(one.phase, len(order)), one.span.line))
        return tuple(found[:_MOST])

    def growth(self) -> tuple[Growth, ...]:
        """What the log shows; of a pool of which it shows none what a person tells."""
        found = (growth(self.measured[key], points) for key, points in self.series.items())
        shown = tuple(one for one in found if one)
        return shown if self.told is None or any(one.pool == self.told.pool for one in shown) else (*shown, self.told)


class _Found(NamedTuple):
    """One figure in the text. ``label`` is what the line calls its moment."""

    measure: Measure
    size: float
    span: Span
    words: str
    label: str = ""
    unit: str = ""


def read_measured(paste: Paste, lowered: Lowered, logs: Mapping[str, Log], values: Mapping[str, Value]) -> Readings:
    """All readings of the text. ``values`` tell the runs in which a counter leaves an engine out."""
    readings = Readings()
    steps: dict[int, int] | None = None
    for log in logs.values():
        if not any(all(literal in lowered.whole for literal in alternative) for alternative in log.literals):
            continue
        for found in (*_of_lines(paste.lines, lowered, log), *_of_settings(paste, log)):
            if found.measure.fact:
                _keep_fact(readings, found)
            else:
                steps = _steps(paste.lines, lowered) if steps is None else steps
                apart = any(holds(conditions, values) is True for conditions in found.measure.apart)
                counts = found.measure.with_engine and not apart
                _keep(readings, log, found, steps.get(found.span.line), with_engine=counts)
    return readings


def _steps(lines: Sequence[Line], lowered: Lowered) -> dict[int, int]:
    """Line → the step that the log had counted to there: named on the line, or last before it."""
    steps: dict[int, int] = {}
    at: int | None = None
    telling = frozenset(lowered.holding(OF_COUNTERS))
    for i, line in enumerate(lines):
        if i in telling:
            report = _AFTER.search(line.words)
            at = int(report[1]) if report else next((int(found["step"]) for found in counted(line)), at)
        if at is not None:
            steps[line.number] = at
    return steps


# --- where figures stand


def _of_lines(lines: Sequence[Line], lowered: Lowered, log: Log) -> Iterator[_Found]:
    keyed = [(one, one.key.lower(), _metric(one.key) if one.key else one.pattern) for one in log.measures]
    forms = [(measure, key, form) for measure, key, form in keyed if key in lowered.whole]
    for i in lowered.holding_all(log.literals) if forms else ():
        line, words = lines[i], lowered.lines[i]
        for measure, key, form in forms:
            for found in form.finditer(line.words) if key in words else ():
                if one := _found(measure, line, found, _label(log, lines, i, found)):
                    yield one


@cache
def _metric(key: str) -> re.Pattern[str]:
    """``key:1.5``, ``'key': 1.5``, ``key=np.float64(1.5)``: a metric by its whole name."""
    return re.compile(
        rf"(?<![\w/.-]){re.escape(key)}['\"]?\s*[:=]\s*['\"]?(?:[\w.]{{1,20}}\()?(?P<size>\d+(?:\.\d+)?(?:e[+-]?\d+)?)",
        re.I | re.A,
    )


def _found(measure: Measure, line: Line, found: re.Match[str], label: str) -> _Found | None:
    """The figure, or None where its words are no size that memory can have."""
    size, unit = found["size"], measure.unit
    try:
        if measure.unit in ("printed", "binary"):
            number, unit = _number(size, binary=measure.unit == "binary"), "bytes"
        else:
            more = found["size2"] if "size2" in found.re.groupindex else None
            number = float(size.replace(",", "")) + float((more or "0").replace(",", ""))
    except ValueError:
        return None
    return _Found(measure, number, span_of(line, found), found[0].strip(), label, unit) if number < _ABSURD else None


def _number(size: str, *, binary: bool) -> float:
    found = _SIZE.fullmatch(size.strip())
    if binary and found and found[2].lower() in _BINARY:
        return float(found[1].replace(",", "")) * _BINARY[found[2].lower()]
    return parse_size(size)


def _label(log: Log, lines: Sequence[Line], i: int, found: re.Match[str]) -> str:
    """The words that name the moment: a group of the pattern, else the line above, which the same function printed."""
    if label := found["label"] if "label" in found.re.groupindex else "":
        return " ".join(str(label).split())[:_LABEL]
    if not log.above:
        return ""
    for line in reversed(lines[max(0, i - _ABOVE) : i]):
        if line.words.strip() and not any(measure.pattern.search(line.words) for measure in log.measures):
            return line.words.strip()[:_LABEL]
    return ""


def _of_settings(paste: Paste, log: Log) -> Iterator[_Found]:
    """Metrics in nested YAML and JSON, where a name's parts stand in several lines or braces."""
    nested = {measure.key.replace("/", "."): measure for measure in log.measures if "/" in measure.key}
    for setting in paste.settings:
        measure = nested.get(setting.key)
        number = written.number(setting.value) if measure else None
        if measure and number is not None and 0 <= number < _ABSURD:
            yield _Found(measure, number, setting.span, f"{measure.key}: {setting.value}", unit=measure.unit)


# --- what they mean


def _keep_fact(readings: Readings, found: _Found) -> None:
    """A fact of a metric: the largest over the steps, since the largest decides the peak."""
    id, size = found.measure.fact, found.size * found.measure.times
    value: Value = round(size) if FACTS[id].type == "int" else size
    before = readings.facts.get(id)
    if size > 0:
        readings.first.setdefault(id, size)
    if size > 0 and (before is None or float(before.value) < size):
        why = "" if found.measure.key == "" else "measured by the run"
        readings.facts[id] = Fact(id, value, "read", written=found.words, span=found.span, why=why)


def _keep(readings: Readings, log: Log, found: _Found, step: int | None, *, with_engine: bool) -> None:
    measure, label = found.measure, found.label
    settled = next((one for one in log.labels if any(word in label.lower() for word in one.words)), None)
    phase = measure.phase or (settled.phase if settled else "")
    moment = _moment(measure, label)
    if settled:
        moment = "peak" if measure.counter in settled.peak else settled.moment or moment
    tokens = round(found.size * measure.times) if measure.counter == "kv_tokens" else 0
    size = 0 if tokens else round(found.size * PRINTED[found.unit] * measure.times)
    title = label or measure.key or log.title
    one = Measured(
        phase, moment, pool_of(measure.counter), measure.counter, size, found.span, title, tokens, step, with_engine
    )  # fmt: skip
    if not size and not tokens and measure.zero:
        readings.notes[f"{measure.zero} (line {found.span.line})"] = None
    if one.counter == "device" and one.moment == "now" and size < _IDLE:
        return
    key = (log.slug, measure.counter, measure.key, moment, phase, re.sub(r"\d+", "", label))
    before = readings.measured.get(key)
    if before is None or (one.bytes, one.tokens) > (before.bytes, before.tokens):
        readings.measured[key] = one
    if step is not None and size:
        readings.series[key].append(Point(step, size, found.span))


def _moment(measure: Measure, label: str) -> str:
    first = label.lower().split(" ", 1)[0]
    return first if measure.moment == "now" and first in ("before", "after") else measure.moment
