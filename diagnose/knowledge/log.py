"""What programs print of memory while they run: one file, one family of lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from diagnose.conditions import Conditions
from diagnose.knowledge.record import Record
from diagnose.vocabulary import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One figure. Its line holds the ``pattern`` with a group ``size`` (``size2`` is added), or a metric's ``key`` and its value.

    It gives either a ``counter`` or a ``fact``. ``unit`` is what the figure really means, ``printed`` as the word behind it says,
    ``binary`` where KB, MB and GB mean powers of 1024. ``times`` multiplies a count. A group ``label`` or the line above names the
    moment. ``zero`` is what a figure of nothing means. ``with_engine``: an engine of the same process counts as well, but for
    runs in which one of ``apart`` holds.
    """

    counter: str = ""
    fact: str = ""
    pattern: re.Pattern[str] = field(default=re.compile(""))
    key: str = ""
    unit: str = "gib"
    times: int = 1
    moment: str = "now"
    phase: str = ""
    zero: str = ""
    with_engine: bool = False
    apart: tuple[Conditions, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """Words (lower case) of a label that settle the phase, and the moment where the label's own first word does not.

    ``peak`` names counters that still stand at the phase's peak then.
    """

    words: tuple[str, ...]
    phase: str
    moment: str = ""
    peak: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogExample:
    """A text and everything that must be read from it, as ``phase moment counter GiB`` (– for no phase) or facts."""

    says: str
    text: str
    reads: tuple[str, ...] = ()
    facts: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Log(Record):
    """``literals``: each alternative's words (lower case) must stand in the line. ``above``: the label is the line above."""

    literals: tuple[tuple[str, ...], ...]
    measures: tuple[Measure, ...] = ()
    labels: tuple[Label, ...] = ()
    above: bool = False
    examples: tuple[LogExample, ...] = ()
