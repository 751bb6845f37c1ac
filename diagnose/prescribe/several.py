"""Steps of several levers written one upon another, and the run that they come to: worked out once, however often a search asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from diagnose.estimate import estimate_pool
from diagnose.knowledge.records import Lever
from diagnose.prescribe.measure import lowers, measure
from diagnose.prescribe.outcome import Trial
from diagnose.prescribe.situation import Situation
from diagnose.prescribe.steps import Targets
from diagnose.prescribe.trial import written_step
from diagnose.prescribe.writing import Written, key_of
from diagnose.types import Change, Estimate, Facts

Step = tuple[Lever, Targets]
_Name = tuple[tuple[object, ...], ...]


def _named(taken: Sequence[Step]) -> _Name:
    """What tells these steps from others."""
    return tuple((lever.slug, *step.items()) for lever, step in taken)


class Several:
    """What comes of steps on one run: a search adds one to many that it has tried before."""

    def __init__(self, start: Situation) -> None:
        self.start = start
        self._written: dict[_Name, Written | None] = {(): Written(start.facts, (), start.fallback)}
        self._runs: dict[_Name, Situation] = {(): start}
        self._trials: dict[tuple[_Name, _Name], Trial | None] = {}

    def written(self, taken: Sequence[Step]) -> Written | None:
        """All of them written down, each on what the others made of the run; None where two want different words of one key, or
        libraries that do not shard beside each other.
        """
        name = _named(taken)
        if name not in self._written:
            others = self.written(taken[:-1])
            self._written[name] = self._upon(others, *taken[-1]) if others else None
        return self._written[name]

    def run(self, taken: Sequence[Step]) -> Situation:
        """The run with them, both pools estimated anew: what the log measured was of the run as it is. They can be written."""
        name = _named(taken)
        if name not in self._runs:
            made = self.written(taken)
            assert made is not None
            self._runs[name] = replace(self.start, facts=made.facts, before=_estimated(made))
        return self._runs[name]

    def trial(self, taken: Sequence[Step], done: Sequence[Step]) -> Trial | None:
        """What ``taken`` saves at the peak of the run with those that are ``done``; None where they cannot be written, or save nothing."""
        made, now = self.written(taken), self.run(done)
        if made is None or made.facts.values == now.facts.values:
            return None
        name = (_named(taken), _named(done))
        if name not in self._trials:
            found = measure(taken[-1][0], now, made) if lowers(now, made) else None
            self._trials[name] = found if isinstance(found, Trial) else None
        return self._trials[name]

    def _upon(self, others: Written, lever: Lever, step: Targets) -> Written | None:
        """One step more."""
        before, facts = self.start.facts, others.facts
        made = written_step(lever, replace(self.start, facts=facts), step)
        library = facts.values.get("strategy")
        moved = library != before.values.get("strategy")
        if made is None or (moved and made.facts.values.get("strategy") != library):
            return None
        changes = {change.key or change.fact: change for change in others.changes}
        for change in made.changes:
            name = change.key or change.fact
            first = changes.get(name, change)
            if first.fact != change.fact and not _gives(made.facts, change, first.fact):
                return None
            changes[name] = replace(change, before=first.before, span=first.span, shipped=first.shipped)
        return Written(made.facts, tuple(changes.values()), self.start.fallback)


def _gives(facts: Facts, change: Change, fact: str) -> bool:
    """Whether the word of a key that means several facts at once holds this one as well."""
    key = key_of(facts, change.fact)
    return key is not None and key.values.get(change.after, {}).get(fact) == facts.values.get(fact)


def _estimated(made: Written) -> Estimate:
    return Estimate(gpu=estimate_pool(made.plan, "gpu").gpu, host=estimate_pool(made.plan, "host").host)
