"""A run that has not begun and whose trainer's version nobody tells: it surely runs out only if it does so in every release.

The figure is that of the newest release, as before; the bands reach down to what the others need, each by its own keys and defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from diagnose.estimate import estimate_pool, plan_of
from diagnose.facts.settings.defaults import at_version
from diagnose.facts.trainer.versions import possible, turns
from diagnose.knowledge.records import Framework
from diagnose.types import Estimate, Facts, Paste, PhaseEstimate, PoolEstimate

_RELEASES = 6  # that are tried, about as many changes apart


def over_versions(before: Estimate, facts: Facts, paste: Paste, fallback: Framework | None) -> Estimate:
    """The estimate, with wider bands on the cards where it runs out and a release that the text leaves possible does not."""
    gpu, told = before.gpu, {"framework_version", "oom_kind"} & facts.values.keys()
    if told or gpu is None or facts.framework is None or gpu.verdict() != "out":
        return before
    releases = turns(facts.framework, *possible(facts.framework, paste), most=_RELEASES)
    plans = [plan_of(at_version(facts, release, paste), fallback) for release in releases]
    pools = [pool for plan in plans if (pool := estimate_pool(plan, "gpu").gpu) is not None]
    if all(pool.verdict() == "out" for pool in pools):
        return before
    return replace(before, gpu=replace(gpu, phases=tuple(_down_to(phase, pools) for phase in gpu.phases)))


def _down_to(phase: PhaseEstimate, pools: Sequence[PoolEstimate]) -> PhaseEstimate:
    """The phase with the lowest of its lows; nothing where a release has no such phase."""
    same = [pool.phase(phase.phase) for pool in pools]
    least = min(0 if one is None else one.low for one in same)
    return replace(phase, doubt=lambda: (min(phase.low, least), phase.high))
