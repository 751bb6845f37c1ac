"""What a log measured: sizes with their moment, and their growth over steps."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.types.paste import Span
from diagnose.units import to_gib
from diagnose.vocabulary import Pool


@dataclass(frozen=True, slots=True)
class Measured:
    """The largest of the sizes that a log printed of one thing, in bytes; ``tokens`` where it counted tokens of a cache.

    ``phase`` is empty where nothing settles it; ``moment`` and ``counter`` are words of the vocabulary. ``step`` is the step that
    the log had counted to. ``with_engine``: the counter also counts an engine of the same process, awake or asleep.
    """

    phase: str
    moment: str
    pool: Pool
    counter: str
    bytes: int
    span: Span
    title: str
    tokens: int = 0
    step: int | None = None
    with_engine: bool = False

    @property
    def gib(self) -> float:
        return to_gib(self.bytes)


@dataclass(frozen=True, slots=True)
class Growth:
    """Readings of one thing that rise from step to step: ``each`` bytes a step, from ``first`` to ``last`` (step, bytes).

    ``peak``: what was read are peaks, which follow the lengths of a step.
    """

    pool: Pool
    counter: str
    each: float
    first: tuple[int, int]
    last: tuple[int, int]
    points: int
    span: Span
    title: str
    peak: bool = False

    def reaches(self, limit: int) -> int:
        """The step at which it comes to ``limit`` bytes if it goes on like this; the last one where it is there already."""
        return self.last[0] + max(0, round((limit - self.last[1]) / self.each))
