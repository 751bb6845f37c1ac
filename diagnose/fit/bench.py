"""One run tried with other settings: what each makes of the verdict. Every trial is estimated once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from diagnose.batch import whole
from diagnose.estimate import estimate_pool, plan_of
from diagnose.estimate.plan import Plan
from diagnose.knowledge.records import Framework
from diagnose.types import Fact, Facts, PhaseEstimate, PoolEstimate
from diagnose.vocabulary import VERDICTS, Pool, Value, is_number

Settings = Mapping[str, Value]


@dataclass(frozen=True)
class Trial:
    """The run with ``settings`` changed. ``pools`` are those with a known limit, the card's first."""

    settings: Settings
    pools: tuple[PoolEstimate, ...]

    @cached_property
    def verdict(self) -> str:
        """The worst word of its pools; ``unknown`` where nobody knows what the card has."""
        if not self.pools or self.pools[0].pool != "gpu":
            return "unknown"
        return max((pool.verdict() for pool in self.pools), key=VERDICTS.index)

    @property
    def fits(self) -> bool:
        """Whether it fits with its whole band, which reaches up to every answer at its limit where lengths are assumed."""
        return self.verdict == "fits"

    @property
    def tight(self) -> tuple[PoolEstimate, PhaseEstimate]:
        """The pool that decides, and its phase that reaches furthest above the limit or comes nearest to it."""
        pool = max(self.pools, key=lambda one: (VERDICTS.index(one.verdict()), one.pool == "gpu"))
        word = pool.verdict()
        worst = [phase for phase in pool.phases if pool.verdict(phase) == word]
        return pool, max(worst, key=lambda phase: phase.bounds[1] if word != "out" else phase.need)


@dataclass
class Bench:
    """A run to try settings on. ``facts`` are of a run that has not begun: nothing in them was measured."""

    facts: Facts
    fallback: Framework | None = None
    _judged: tuple[Pool, ...] = field(default=("gpu", "host"), init=False)
    _tried: dict[tuple[tuple[str, Value], ...], Trial] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """A pool without a limit is not estimated again: no setting gives it one."""
        self._judged = tuple(pool.pool for pool in self.at({}).pools)

    def at(self, settings: Settings) -> Trial:
        key = tuple(settings.items())
        if key not in self._tried:
            self._tried[key] = self._estimated(settings)
        return self._tried[key]

    def plan(self, settings: Settings) -> Plan | None:
        changed = [Fact(id, value, "answered") for id, value in settings.items()]
        return plan_of(self.facts.with_facts(changed) if changed else self.facts, self.fallback)

    def _estimated(self, settings: Settings) -> Trial:
        plan = self.plan(settings)
        pools = [estimate_pool(plan, name).pool(name) for name in self._judged]
        return Trial(settings, tuple(pool for pool in pools if pool and pool.phases and pool.limit is not None))

    def now(self, id: str) -> float | int | None:
        """What a number is in this run, told or by default; None where nothing says it."""
        value = self.facts.values.get(id)
        return value if is_number(value) else None

    def cards(self, count: int) -> Settings:
        """The settings of a run on ``count`` cards; a node holds no more of them than it does now."""
        id, node = cards_fact(self.facts), whole(self.facts.values, "gpus_per_node")
        told = "gpus_per_node" in self.facts.stated
        if id == "n_gpus" and node and (count > node or (told and count < node)):
            return {id: count, "gpus_per_node": min(count, node)}
        return {id: count}


def cards_fact(facts: Facts) -> str:
    """The fact that counts the cards which the trainer's state is split among."""
    return "trainer_gpus" if "trainer_gpus" in facts.stated else "n_gpus"
