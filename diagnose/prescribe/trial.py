"""One lever tried on one run: the smallest change after which the failing phase fits, or the word that it is no help.

A saving outside the failing phase and pool is worth nothing, and bytes that go to the other pool are counted there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from diagnose.conditions import holds, only_rules_out
from diagnose.estimate import cache_room, plan_of
from diagnose.knowledge.records import Lever
from diagnose.prescribe.company import broken
from diagnose.prescribe.even import uneven
from diagnose.prescribe.measure import measure, takes
from diagnose.prescribe.outcome import Refusal, Trial
from diagnose.prescribe.room import share_within, try_for_room
from diagnose.prescribe.situation import LEAST_GAIN, Situation
from diagnose.prescribe.steps import Targets, at_bound, steps, without
from diagnose.prescribe.writing import Written, in_data_alone, key_of, write
from diagnose.types import Fact, Facts
from diagnose.units import gib
from diagnose.vocabulary import FACTS, PHASES, Value

# Facts that decide whether a term exists at all, so that no term names them while it does not.
_ALWAYS_COUNTED = {
    "gradient_checkpointing", "critic_gradient_checkpointing", "critic_remove_padding", "activation_offload", "logits_chunked",
    "has_ref", "has_critic", "precision", "full_or_lora",
    "train_batch_size", "rollout_n", "optimizer_on_cpu", "param_on_cpu", "rollout_mode", "sp", "tp", "pp",
    "critic_sp", "critic_activation_offload",
}  # fmt: skip

Worked = frozenset[tuple[str, Value]]

_ABSENT = "Its key does not exist in this framework and version, or has no effect there."


def try_lever(lever: Lever, situation: Situation, worked: Worked = frozenset()) -> Trial | Refusal:
    """The lever's smallest change that is enough, else its best; a refusal when it cannot be made or saves nothing that counts.

    Enough is what fits by the middle of the estimate, or what near cases say was enough (``worked``: facts and their values).
    """
    if not lever.changes:
        return Trial(lever, situation.facts, ())
    ladder = steps(lever, situation.facts)
    if not ladder:
        return _no_step(lever, situation)
    if situation.failing is None or not counted(lever, situation):
        return _without_figures(lever, situation, ladder)
    last = next(_written(lever, situation, reversed(ladder)), None)
    if last is None:
        return _unwritten(lever, situation, ladder)
    best = _search(lever, situation, ladder, last, worked)
    return _pruned(lever, situation, best, ladder) if isinstance(best, Trial) and len(ladder[0]) > 1 else best


def smallest(lever: Lever, situation: Situation) -> Trial | None:
    """The smallest step without figures; None where none can be written."""
    made = next(
        (made for step in steps(lever, situation.facts) if (made := written_step(lever, situation, step))), None
    )
    return Trial(lever, made.facts, made.changes) if made else None


def written_step(lever: Lever, situation: Situation, step: Targets) -> Written | None:
    """The step written down; None where no key makes it, or where the framework refuses what it comes to. Made once."""
    key = (lever.slug, *step.items())
    if key not in situation.written:
        made = _made(lever, situation, step)
        situation.written[key] = None if made is None or _refused(situation, made) else made
    return situation.written[key]


def _refused(situation: Situation, made: Written) -> str:
    """Why the framework would not start with the change; empty where nothing is known against it."""
    framework = situation.facts.framework
    clash = framework.clash(situation.facts.values, made.facts.values) if framework else None
    keys = [(change, key) for change in made.changes if (key := key_of(situation.facts, change.fact))]
    parts = next((says for change, key in keys if (says := broken(situation, change, key))), "")
    return clash.says if clash else parts or uneven(situation, made)


def _made(lever: Lever, situation: Situation, step: Targets) -> Written | None:
    """The step in keys; facts of several that this framework has no key for are left out."""
    if lever.keyless or not situation.framework_known:
        return write(situation, step, keyless=lever.keyless)
    made = write(situation, step, keyless=False)
    if made or len(step) == 1:
        return made
    possible = {id: value for id, value in step.items() if write(situation, {id: value}, keyless=False)}
    made = write(situation, possible, keyless=False) if possible else None
    return _with_adapters(made, step) if made and "lora_rank" in possible else made


def _with_adapters(made: Written, step: Targets) -> Written:
    """Where a trainer has no key for what is trained, a rank above 0 tells that it is adapters (facts/trainer/training.py)."""
    if step.get("full_or_lora") != "lora" or made.facts.values.get("full_or_lora") == "lora":
        return made
    return replace(made, facts=made.facts.with_fact(Fact("full_or_lora", "lora", "answered")))


def _written(lever: Lever, situation: Situation, steps: Iterable[Targets]) -> Iterator[Written]:
    """The steps that can be written down and change something, each written when it is asked for."""
    made = (written_step(lever, situation, step) for step in steps)
    return (one for one in made if one and one.facts.values != situation.facts.values)


def _unwritten(lever: Lever, situation: Situation, ladder: list[Targets]) -> Refusal:
    """Why none of the steps changes anything."""
    if any(written_step(lever, situation, step) for step in ladder):
        return Refusal("no_gain", "The key already stands where a smaller value comes to the same.")
    made = (_made(lever, situation, step) for step in ladder)
    says = next((says for one in made if one and (says := _refused(situation, one))), "")
    return Refusal("refused", says) if says else Refusal("absent", _ABSENT)


def _no_step(lever: Lever, situation: Situation) -> Trial | Refusal:
    if bound := at_bound(lever, situation.facts):
        return Refusal("no_gain", bound)
    if not _has_key(lever, situation):
        return Refusal("absent", _ABSENT)
    if limited := _limited(lever, situation):
        return limited
    if situation.room is not None or (situation.failing is not None and counted(lever, situation)):
        return Refusal("untold", "What it would change from is not known.")
    return least(lever, situation)


def _limited(lever: Lever, situation: Situation) -> Trial | None:
    """A limit where nobody sets one, without figures: what it saves hangs on what it cuts."""
    change = lever.changes[0]
    told = {id: test for id, test in lever.when.items() if id in situation.values or not only_rules_out(test)}
    rest = {id: test for id, test in told.items() if id not in (change.fact, "phase")}
    if change.unset is None or holds(rest, situation.values) is not True:
        return None
    made = write(situation, {change.fact: change.unset}, keyless=lever.keyless)
    return Trial(lever, situation.facts, made.changes) if made else None


def least(lever: Lever, situation: Situation) -> Trial:
    """Without figures. Rows of a pass that nothing tells: the key with the fewest that it takes, whatever stood there."""
    change = lever.changes[0]
    rows = FACTS[change.fact].unit == "sequences per GPU" and change.at_least is not None
    made = (
        write(situation, {change.fact: int(change.at_least or 1)}, keyless=False)
        if rows and situation.framework_known
        else None
    )
    return Trial(lever, situation.facts, made.changes if made else ())


def _without_figures(lever: Lever, situation: Situation, ladder: list[Targets]) -> Trial | Refusal:
    """The first step that is within the room that the message prints; where none is, the smallest but for the engine's share."""
    if (usual := situation.usual) and _takes_nothing(lever, usual):
        return Refusal("elsewhere", f"In a run of usual size it takes nothing from the {PHASES[usual.phase or '']}.")
    if isinstance(share := share_within(lever, situation), Refusal):
        return share
    ladder = [{lever.changes[0].fact: share}] if share else ladder
    if tried := try_for_room(lever, situation, _written(lever, situation, ladder)):
        return tried
    written = _written(lever, situation, ladder)
    smallest = next(written, None)
    if smallest is None:
        return _unwritten(lever, situation, ladder)
    first = next((made for made in chain((smallest,), written) if _within_printed_room(made.facts)), None)
    if first is None and lever.changes[0].fact != "gpu_memory_utilization":
        first = smallest
    if first is None:
        free = situation.facts.number("gpu_free_gib") or 0
        return Refusal("no_gain", f"Only {free:.1f} GiB are free; each smaller share still asks for more than that.")
    if why := _starves(situation, first):
        return Refusal("elsewhere", why, shifts=True)
    if len(first.changes) > 1 and all(change.op == "set" for change in lever.changes):
        # Without figures nothing says that the costlier ways are needed too.
        id = first.changes[0].fact
        first = write(situation, {id: first.facts.values[id]}, lever.keyless) or first
    return Trial(lever, first.facts, first.changes)


def _starves(situation: Situation, made: Written) -> str:
    """Why an engine that started would not, where each of its cards holds more with the change; empty where it would, or nothing tells."""
    if not any(change.fact == "rollout_tp" for change in made.changes):
        return ""
    before, after = cache_room(plan_of(situation.facts, situation.fallback)), cache_room(made.plan)
    if before is None or after is None or before.filled or not after.filled:
        return ""
    return f"Then the engine’s weights take {gib(after.weights)} GiB of the {gib(after.share)} that it may: hardly room for its cache."


def _takes_nothing(lever: Lever, situation: Situation) -> bool:
    """Whether even the largest step leaves the failing phase as it is; never of what is turned off while nothing says that it is on."""
    may_be_off = any(change.to is False and change.fact not in situation.facts.values for change in lever.changes)
    if may_be_off or not counted(lever, situation):
        return False
    last = next(_written(lever, situation, reversed(steps(lever, situation.facts))), None)
    after = takes(situation, last) if last else None
    return after is not None and situation.failing is not None and after >= situation.failing.bytes


def counted(lever: Lever, situation: Situation) -> bool:
    """Whether the estimate speaks of a fact that the lever moves."""
    return any(change.fact in _ALWAYS_COUNTED or change.fact in situation.counted for change in lever.changes)


def _has_key(lever: Lever, situation: Situation) -> bool:
    if lever.keyless or not situation.framework_known:
        return True
    keys, dead = situation.facts.keys, situation.facts.dead_keys
    if any(in_data_alone(situation.facts, change.fact) for change in lever.changes):
        return True
    return any(change.fact in keys and keys[change.fact] not in dead for change in lever.changes)


def _within_printed_room(facts: Facts) -> bool:
    """Whether the engine's share is no more than what the message says was free; true when no message says it."""
    free, total, share = (facts.number(id) for id in ("gpu_free_gib", "gpu_total_gib", "gpu_memory_utilization"))
    if facts.values.get("oom_kind") != "vllm_free_memory_too_low" or not free or not total or not share:
        return True
    return share * total <= free


def _search(
    lever: Lever, situation: Situation, ladder: list[Targets], last: Written, worked: Worked
) -> Trial | Refusal:
    """The largest step first: when even that saves nothing, or not enough, none does. Then from the smallest on, until one surely fits."""
    largest = measure(lever, situation, last)
    if isinstance(largest, Refusal) and not largest.shifts:
        return largest
    if isinstance(largest, Trial) and _too_little(largest, situation, _written(lever, situation, ladder), worked):
        return largest
    chosen: Trial | None = None
    best: Trial | Refusal = largest
    for made in _written(lever, situation, ladder):
        trial = largest if made == last else measure(lever, situation, made)
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


def _too_little(largest: Trial, situation: Situation, written: Iterator[Written], worked: Worked) -> bool:
    """Whether the largest step is over the limit by its middle, and no step has been enough for others."""
    if largest.verdict not in ("close", "out") or situation.limit is None or _bytes(largest) <= situation.limit:
        return False
    return not worked or not any(_was_enough(made, worked) for made in written)


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


def _pruned(lever: Lever, situation: Situation, best: Trial, ladder: list[Targets]) -> Trial:
    """The same with every change left out that the failing phase does not need, the last one named first."""
    taken = {change.fact for change in best.changes}
    targets: Targets = {id: value for id, value in _step_of(best, ladder).items() if id in taken}
    if lever.keyless:
        return best
    for id in reversed([change.fact for change in lever.changes]):
        fewer = without(situation.facts, targets, id)
        if id not in targets or fewer is targets or not any(change.fact in fewer for change in lever.changes):
            continue
        made = write(situation, fewer, keyless=False)
        trial = measure(lever, situation, made) if made else None
        if isinstance(trial, Trial) and (trial.verdict == best.verdict == "fits" or _bytes(trial) <= _bytes(best)):
            best, targets = trial, fewer
    return best


def _step_of(best: Trial, ladder: list[Targets]) -> Targets:
    """The step that a trial took: the one whose values the trial's facts hold, or the last."""
    for step in ladder:
        if all(best.facts.values.get(id) == value for id, value in step.items()):
            return step
    return ladder[-1]
