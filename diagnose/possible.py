"""Which phases a failure leaves possible where nothing names one: by the size that was asked for, and by the traceback."""

from __future__ import annotations

from diagnose.estimate.refused import asked_in
from diagnose.types import Facts, PoolEstimate


def possible_phases(facts: Facts) -> tuple[str, ...]:
    """The phases in which alone it can have failed on a card; empty where it may be any, or where size and traceback disagree."""
    passes, asked = _passes(facts), asked_in(facts)
    return tuple(phase for phase in asked if phase in passes) if passes and asked else passes or asked


def only_phase(facts: Facts, pool: PoolEstimate | None) -> str | None:
    """The one phase of the run in which the traceback can stand; None where several are, or none."""
    left = [phase for phase in _passes(facts) if pool and pool.phase(phase)]
    return left[0] if len(left) == 1 else None


def _passes(facts: Facts) -> tuple[str, ...]:
    """What the traceback leaves of a run: an engine samples by models of its own, and a reward may be no model's."""
    absent = set() if facts.values.get("rollout_engine") in (None, "hf") else {"rollout"}
    absent |= set() if facts.flag("has_reward_model") else {"reward"}
    return tuple(phase for phase in facts.among if phase not in absent)
