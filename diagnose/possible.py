"""Which phases a failure leaves possible where nothing names one: by the size that was asked for, by the traceback, and by the estimate."""

from __future__ import annotations

from diagnose.estimate.refused import asked_in
from diagnose.types import Facts, PoolEstimate

_OF_ENGINE = ("init", "weight_sync", "rollout")


def possible_phases(facts: Facts, pool: PoolEstimate | None = None) -> tuple[str, ...]:
    """The phases in which alone it can have failed on a card; empty where it may be any, or where size and traceback disagree.

    Where neither tells, those that by the estimate of the cards (``pool``) may.
    """
    passes, asked = _passes(facts), asked_in(facts)
    told = tuple(phase for phase in asked if phase in passes) if passes and asked else passes or asked
    return told if passes or asked else may_take_more(facts, pool)


def ground(facts: Facts) -> str:
    """What leaves some phases alone: the ``traceback``, the ``size`` that was asked for, or the ``estimate``."""
    return "traceback" if facts.among else "size" if asked_in(facts) else "estimate"


def may_take_more(facts: Facts, pool: PoolEstimate | None) -> tuple[str, ...]:
    """The phases that may take more than the highest one, where that is an engine's and surely has room.

    An engine takes the share that it is given, so that little of it is in doubt: a card that did run out did so elsewhere.
    """
    if pool is None or pool.limit is None or not pool.phases or facts.values.get("oom_kind") != "gpu_oom":
        return ()
    highest = pool.worst
    if highest.phase not in _OF_ENGINE or pool.verdict(highest) != "fits":
        return ()
    return tuple(one.phase for one in pool.phases if one.bounds[1] > highest.bounds[1])


def only_phase(facts: Facts, pool: PoolEstimate | None) -> str | None:
    """The one phase of the run in which the traceback can stand; None where several are, or none."""
    left = [phase for phase in _passes(facts) if pool and pool.phase(phase)]
    return left[0] if len(left) == 1 else None


def _passes(facts: Facts) -> tuple[str, ...]:
    """What the traceback leaves of a run: an engine samples by models of its own, and a reward may be no model's."""
    absent = set() if facts.values.get("rollout_engine") in (None, "hf") else {"rollout"}
    absent |= set() if facts.flag("has_reward_model") else {"reward"}
    return tuple(phase for phase in facts.among if phase not in absent)
