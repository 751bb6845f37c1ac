"""Which phases a failure leaves possible where nothing names one: by the traceback, by the size that was asked for, and by the estimate."""

from __future__ import annotations

from diagnose.estimate.refused import asked_for, asked_in
from diagnose.types import Facts, PhaseEstimate, PoolEstimate
from diagnose.units import GIB
from diagnose.vocabulary import OFFLINE_ALGOS

# rows pass through these: how many is in doubt, and so is the size of their tensors
_OF_ROWS = ("logprob", "ref_logprob", "values", "critic", "actor_update", "reward", "eval")
# our choice: from which size on a request tells of its phase, how many layers may share a piece of the cache where a model has several
# kinds, and how far beyond the largest request that a phase is known to make it makes none
_LARGE, _OF_SEVERAL_KINDS, _SURE = 1.0 * GIB, 8, 1.25


def possible_phases(facts: Facts, pool: PoolEstimate | None = None) -> tuple[str, ...]:
    """The phases in which alone it can have failed; empty where it may be any, or where size and traceback disagree.

    Where neither tells, those that by the estimate of the cards (``pool``) may. On a node a run that ended in its first step has not
    come to a checkpoint.
    """
    return _left(facts, pool)[1]


def ground(facts: Facts, pool: PoolEstimate) -> str:
    """What leaves some phases alone: the ``traceback``, the ``size`` that was asked for, or the ``estimate``."""
    return _left(facts, pool)[0]


def only_out(facts: Facts, pool: PoolEstimate | None) -> str | None:
    """The one phase that surely runs out of those in which it can have failed; None where there is none, or more than one."""
    out, left = pool.only_out if pool else None, possible_phases(facts, pool)
    return out if not left or out in left else None


def only_phase(facts: Facts, pool: PoolEstimate | None) -> str | None:
    """The one phase of the run in which the traceback can stand; None where several are, or none."""
    left = [phase for phase in _passes(facts) if pool and pool.phase(phase)]
    return left[0] if len(left) == 1 else None


def _left(facts: Facts, pool: PoolEstimate | None) -> tuple[str, tuple[str, ...]]:
    if pool is not None and pool.pool == "host":
        saved = facts.number("step") != 1 or facts.flag("steps_passed") is True
        return ("", ()) if saved else ("step", tuple(one.phase for one in pool.phases if one.phase != "checkpoint"))
    passes, asked = _passes(facts), asked_in(facts)
    if passes:
        return "traceback", tuple(phase for phase in asked if phase in passes) if asked else passes
    if asked:
        return "size", asked
    if pool is None or not pool.phases or facts.values.get("oom_kind") != "gpu_oom":
        return "", ()
    large = _as_large(facts, pool)
    return ("size", _in_doubt(pool, large)) if large else ("estimate", _may_take_more(pool))


def _passes(facts: Facts) -> tuple[str, ...]:
    """What the traceback leaves of a run: an engine samples by models of its own, a reward may be no model's, and rows are not sampled."""
    engine = facts.values.get("rollout_engine") not in (None, "hf") and "init" not in facts.among
    absent = {"rollout"} if engine else set()
    if str(facts.values.get("algo", "")).startswith(OFFLINE_ALGOS):
        absent |= {"rollout", "logprob", "values"} | (set() if facts.flag("has_ref") else {"ref_logprob"})
    absent |= set() if facts.flag("has_reward_model") else {"reward"}
    return tuple(phase for phase in facts.among if phase not in absent)


def _as_large(facts: Facts, pool: PoolEstimate) -> tuple[str, ...]:
    """The phases that may ask for as much at once; empty where all may, or little was asked for."""
    asked = asked_for(facts)
    if asked < _LARGE or facts.model is None or facts.values.get("rollout_engine") in (None, "hf"):
        return ()
    pieces = max(1, facts.model.layers // (_OF_SEVERAL_KINDS if facts.model.mixer else 1))
    table = 2 * facts.model.vocab * facts.model.hidden
    may = [one.phase for one in pool.phases if one.phase in _OF_ROWS or asked < _SURE * _largest(one, pieces, table)]
    return tuple(may) if len(may) < len(pool.phases) else ()


def _largest(phase: PhaseEstimate, pieces: int, table: int) -> float:
    """Bytes of the largest request that a phase without rows makes: an engine's weights come one by one, its cache layer by layer.

    (SGLang v0.4.6 mem_cache/memory_pool.py: MHATokenToKVPool; vLLM's list of cache tensors, each shared by some layers, as
    vllm-project/vllm-ascend@182b75e vllm_ascend/worker/model_runner_v1.py: _allocate_kv_cache_tensors goes through it.)
    """
    parts = {"kv_pool": 1 / pieces, "engine_weights": 0.0}
    held = ("held",) if phase.phase in ("init", "rollout") else ()  # what stands there is not asked for
    terms = [term for term in phase.terms if term.family not in (*held, "fixed")]
    sizes = [term.high * parts.get(term.id, 1.0) for term in terms]
    return max([table, *sizes])


def _may_take_more(pool: PoolEstimate) -> tuple[str, ...]:
    """The passes that may take more than the highest phase, where that is none and surely has room.

    An engine takes the share that it is given, and where no rows pass little is in doubt: a card that did run out did so elsewhere.
    """
    highest = pool.worst
    if highest.phase in _OF_ROWS or pool.verdict(highest) != "fits":
        return ()
    return tuple(one.phase for one in pool.phases if one.phase in _OF_ROWS and one.bounds[1] > highest.bounds[1])


def _in_doubt(pool: PoolEstimate, phases: tuple[str, ...]) -> tuple[str, ...]:
    """Those of these phases that rows pass through, or that may have no room; all where that leaves none."""
    found = [one.phase for one in pool.phases if one.phase in phases]
    left = [phase for phase in found if phase in _OF_ROWS or pool.verdict(pool.phase(phase)) != "fits"]
    return tuple(left or found)
