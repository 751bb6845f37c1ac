"""One lever tried on one run: the smallest change after which the failing phase fits, or the word that it is no help.

A saving outside the failing phase and pool is worth nothing, and bytes that go to the other pool are counted there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from diagnose.estimate import estimate_pool, plan_of
from diagnose.knowledge.records import Lever
from diagnose.prescribe.situation import LEAST_GAIN, Situation, pushed_over, verdict, watched
from diagnose.prescribe.steps import Targets, at_bound, steps, without
from diagnose.prescribe.writing import Written, write
from diagnose.types import Change, Estimate, Facts, PhaseEstimate
from diagnose.units import gib
from diagnose.vocabulary import PHASES, Pool, Value

# Facts that decide whether a term exists at all, so that no term names them while it does not.
_ALWAYS_COUNTED = {
    "gradient_checkpointing", "activation_offload", "logits_chunked", "has_ref", "has_critic", "precision", "full_or_lora",
    "train_batch_size", "rollout_n", "optimizer_on_cpu", "param_on_cpu", "rollout_mode", "sp", "tp",
}  # fmt: skip

Worked = frozenset[tuple[str, Value]]

POOL_WORDS = {"gpu": "GPU memory", "host": "host RAM"}


@dataclass(frozen=True, slots=True)
class Trial:
    """What a lever does. Without figures (``after`` None) its changes are the smallest step and nothing is computed.

    ``sure`` are the changes of the first further step that fits with its whole band, where this one is too close to call.
    """

    lever: Lever
    facts: Facts
    changes: tuple[Change, ...]
    after: PhaseEstimate | None = None
    verdict: str = "unknown"
    other_pool: tuple[int, int] | None = None
    other_verdict: str = ""
    sure: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a lever is no help here: ``reason`` as NotAdvised names it, ``why`` in words.

    ``shifts``: it lowers what fails, but something else runs out for it; a smaller step may not.
    """

    reason: str
    why: str
    shifts: bool = False


def try_lever(lever: Lever, situation: Situation, worked: Worked = frozenset()) -> Trial | Refusal:
    """The lever's smallest change that is enough, else its best; a refusal when it cannot be made or saves nothing that counts.

    Enough is what fits by the middle of the estimate, or what near cases say was enough (``worked``: facts and their values).
    """
    if not lever.changes:
        return Trial(lever, situation.facts, ())
    ladder = steps(lever, situation.facts)
    if not ladder:
        return _without_figures(lever, situation, [])
    written = [made for step in ladder if (made := _made(lever, situation, step))]
    if not written:
        return Refusal("absent", "Its key does not exist in this framework and version, or has no effect there.")
    written = [made for made in written if made.facts.values != situation.facts.values]
    if not written:
        return Refusal("no_gain", "The key already stands where a smaller value comes to the same.")
    if situation.failing is None or not _counted(lever, situation):
        return _without_figures(lever, situation, written)
    best = _search(lever, situation, written, worked)
    return _pruned(lever, situation, best, ladder) if isinstance(best, Trial) and len(ladder[0]) > 1 else best


def smallest(lever: Lever, situation: Situation) -> Trial | None:
    """The smallest step without figures; None where none can be written."""
    made = next((made for step in steps(lever, situation.facts) if (made := _made(lever, situation, step))), None)
    return Trial(lever, made.facts, made.changes) if made else None


def _made(lever: Lever, situation: Situation, step: Targets) -> Written | None:
    """The step written down; facts of several that this framework has no key for are left out."""
    if lever.keyless or not situation.framework_known:
        return write(situation, step, keyless=True)
    made = write(situation, step, keyless=False)
    if made or len(step) == 1:
        return made
    possible = {id: value for id, value in step.items() if write(situation, {id: value}, keyless=False)}
    return write(situation, possible, keyless=False) if possible else None


def _without_figures(lever: Lever, situation: Situation, written: list[Written]) -> Trial | Refusal:
    if not written:
        if bound := at_bound(lever, situation.facts):
            return Refusal("no_gain", bound)
        if not _has_key(lever, situation):
            return Refusal("absent", "Its key does not exist in this framework and version, or has no effect there.")
        if situation.failing is not None and _counted(lever, situation):
            return Refusal("no_gain", "What it would change from is not known.")
        return Trial(lever, situation.facts, ())
    first = next((made for made in written if _within_printed_room(made.facts)), None)
    if first is None and lever.changes[0].fact != "gpu_memory_utilization":
        first = written[0]
    if first is None:
        free = situation.facts.number("gpu_free_gib") or 0
        return Refusal("no_gain", f"Only {free:.1f} GiB are free; each smaller share still asks for more than that.")
    if len(first.changes) > 1 and all(change.op == "set" for change in lever.changes):
        # Without figures nothing says that the costlier ways are needed too.
        id = first.changes[0].fact
        first = write(situation, {id: first.facts.values[id]}, lever.keyless) or first
    return Trial(lever, first.facts, first.changes)


def _counted(lever: Lever, situation: Situation) -> bool:
    """Whether the estimate speaks of a fact that the lever moves."""
    return any(change.fact in _ALWAYS_COUNTED or change.fact in situation.counted for change in lever.changes)


def _has_key(lever: Lever, situation: Situation) -> bool:
    if lever.keyless or not situation.framework_known:
        return True
    keys, dead = situation.facts.keys, situation.facts.dead_keys
    return any(change.fact in keys and keys[change.fact] not in dead for change in lever.changes)


def _within_printed_room(facts: Facts) -> bool:
    """Whether the engine's share is no more than what the message says was free; true when no message says it."""
    free, total, share = (facts.number(id) for id in ("gpu_free_gib", "gpu_total_gib", "gpu_memory_utilization"))
    if facts.values.get("oom_kind") != "vllm_free_memory_too_low" or not free or not total or not share:
        return True
    return share * total <= free


def _search(lever: Lever, situation: Situation, written: list[Written], worked: Worked) -> Trial | Refusal:
    """The largest step first: when even that saves nothing, or not enough, none does. Then from the smallest on, until one surely fits."""
    largest = _measure(lever, situation, written[-1])
    if isinstance(largest, Refusal) and not largest.shifts:
        return largest
    if isinstance(largest, Trial) and _too_little(largest, situation, written, worked):
        return largest
    chosen: Trial | None = None
    best: Trial | Refusal = largest
    for made in written:
        trial = largest if made is written[-1] else _measure(lever, situation, made)
        if isinstance(trial, Refusal):
            continue
        if trial.verdict in ("fits", "unknown"):
            return replace(chosen, sure=trial.changes) if chosen else trial
        if chosen is None and _enough(trial, made, situation, worked):
            chosen = trial
        if chosen and isinstance(largest, Trial) and largest.verdict != "fits":
            break  # no step fits surely where the largest does not
        best = trial if isinstance(best, Refusal) or _bytes(trial) < _bytes(best) * (1 - LEAST_GAIN) else best
    return chosen or best


def _too_little(largest: Trial, situation: Situation, written: list[Written], worked: Worked) -> bool:
    """Whether the largest step is over the limit by its middle, and no step has been enough for others."""
    if largest.verdict not in ("close", "out") or situation.limit is None or _bytes(largest) <= situation.limit:
        return False
    return not any(_was_enough(made, worked) for made in written)


def _was_enough(made: Written, worked: Worked) -> bool:
    return any((change.fact, made.facts.values.get(change.fact)) in worked for change in made.changes)


def _enough(trial: Trial, made: Written, situation: Situation, worked: Worked) -> bool:
    """Whether a step that is too close to call is worth stopping at: its middle fits, or it was enough for others."""
    if trial.verdict != "close":
        return False
    if _was_enough(made, worked):
        return True
    return situation.limit is not None and _bytes(trial) <= situation.limit


def _bytes(trial: Trial) -> int:
    return trial.after.bytes if trial.after else 0


def _measure(lever: Lever, situation: Situation, made: Written) -> Trial | Refusal:
    before, pool = situation.failing, situation.pool
    assert before is not None
    assert pool is not None
    plan = plan_of(made.facts, situation.fallback)
    changed = estimate_pool(plan, pool)
    after = watched(changed, pool, situation.phase)
    gone = after is None and situation.phase is not None
    if gone:  # the failing phase is no more: the highest of the others counts
        after = watched(changed, pool, None)
    if after is None:
        return Refusal("no_gain", "With it, the memory can no longer be computed.")
    if before.bytes - after.bytes < before.bytes * LEAST_GAIN:
        return _no_gain(lever, situation, changed)
    crowded = pushed_over(situation.before.pool(pool), changed.pool(pool)) or _engine_starves(situation, changed, made)
    if crowded:
        return Refusal("elsewhere", _crowded(crowded, pool), shifts=True)
    word = situation.measured_verdict(after) or verdict(changed, pool, None if gone else situation.phase)
    trial = Trial(lever, made.facts, made.changes, after, word)
    other: Pool = "host" if pool == "gpu" else "gpu"
    return _with_other_pool(trial, situation, other, estimate_pool(plan, other))


def _no_gain(lever: Lever, situation: Situation, changed: Estimate) -> Refusal:
    """Names the phase that it would lower instead, when there is one."""
    pool = situation.pool
    before, after = situation.before.pool(pool), changed.pool(pool)  # type: ignore[arg-type]
    failing = situation.failing
    assert failing is not None
    lowered = [
        (was.bytes - now.bytes, was)
        for was in (before.phases if before else ())
        if (now := after.phase(was.phase) if after else None) and was.bytes - now.bytes >= was.bytes * LEAST_GAIN
    ]
    held = f"The {_phase(failing)} needs {failing.shown} GiB with it or without."
    if not lowered:
        return Refusal("no_gain", held)
    saved, where = max(lowered, key=lambda pair: pair[0])
    if after and any(was.phase == failing.phase for _, was in lowered):
        # the failing phase was the highest, and the next one is as high
        saved = next(saved for saved, was in lowered if was.phase == failing.phase)
        then = f"then the {_phase(after.peak)} needs {after.peak.shown} GiB"
        return Refusal("no_gain", f"It takes {gib(saved)} GiB from the {_phase(failing)}; {then}.")
    return Refusal(
        "elsewhere", f"It takes {gib(saved)} GiB from the {_phase(where)}, which is not what runs out. {held}"
    )


def _engine_starves(situation: Situation, changed: Estimate, made: Written) -> PhaseEstimate | None:
    """A smaller engine share that leaves the KV cache nothing: the engine would refuse to start."""
    if not any(change.fact == "gpu_memory_utilization" for change in made.changes):
        return None
    rollout = changed.gpu.phase("rollout") if changed.gpu else None
    pool = next((term for term in rollout.terms if term.id == "kv_pool"), None) if rollout else None
    had = situation.before.gpu.phase("rollout") if situation.before.gpu else None
    was = next((term for term in had.terms if term.id == "kv_pool"), None) if had else None
    return rollout if was and was.bytes and (pool is None or pool.bytes <= was.bytes * LEAST_GAIN) else None


def _crowded(phase: PhaseEstimate, pool: Pool) -> str:
    return f"The {_phase(phase)} would run out of {POOL_WORDS[pool]} instead, or leave the engine no cache."


def _with_other_pool(trial: Trial, situation: Situation, other: Pool, changed: Estimate) -> Trial | Refusal:
    """The bytes that moved to the other pool; a lever that only shifts the failure there is refused."""
    was, now = situation.before.pool(other), changed.pool(other)
    if was is None or now is None or not was.phases or not now.phases or was.peak.bytes == now.peak.bytes:
        return trial
    word = now.verdict()
    more = now.peak.bytes > was.peak.bytes
    if more and word == "out":
        figures = f"{gib(now.peak.bytes)} GiB" + (f" of {gib(now.limit)}" if now.limit else "")
        why = f"Then {POOL_WORDS[other]} runs out: the {_phase(now.peak)} needs {figures}."
        return Refusal("elsewhere", why, shifts=True)
    return replace(trial, other_pool=(was.peak.bytes, now.peak.bytes), other_verdict=word if more else "")


def _pruned(lever: Lever, situation: Situation, best: Trial, ladder: list[Targets]) -> Trial:
    """The same with every change left out that the failing phase does not need, the last one named first."""
    taken = {change.fact for change in best.changes}
    targets: Targets = {id: value for id, value in _step_of(best, ladder).items() if id in taken}
    if lever.keyless:
        return best
    for id in reversed([change.fact for change in lever.changes]):
        fewer = without(situation.facts, targets, id)
        if id not in targets or not any(change.fact in fewer for change in lever.changes):
            continue
        made = write(situation, fewer, keyless=not situation.framework_known)
        trial = _measure(lever, situation, made) if made else None
        if isinstance(trial, Trial) and (trial.verdict == best.verdict == "fits" or _bytes(trial) <= _bytes(best)):
            best, targets = trial, fewer
    return best


def _step_of(best: Trial, ladder: list[Targets]) -> Targets:
    """The step that a trial took: the one whose values the trial's facts hold, or the last."""
    for step in ladder:
        if all(best.facts.values.get(id) == value for id, value in step.items()):
            return step
    return ladder[-1]


def _phase(phase: PhaseEstimate) -> str:
    return PHASES.get(phase.phase, phase.phase)
