"""What stays in which pool during each phase: weights, optimizer, engine, as the framework's record says and as far as the run has them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from diagnose.batch import Values
from diagnose.estimate.sharding import adapters
from diagnose.knowledge.frameworks import Resident
from diagnose.knowledge.records import Framework
from diagnose.vocabulary import OFFLINE_ALGOS, ONLINE_ALGOS, Value

Residents = Mapping[tuple[str, str], tuple[str, ...]]
_Kept = tuple[str, str, tuple[str, ...]]  # what stays, in which pool, in which phases

WITH_REFERENCE = ("dpo", "spin", "kto", "gkd")
WITH_TEACHER = ("gkd",)  # whose second model is another one than the base
_ENGINE = ("engine_weights", "kv_pool", "engine_graphs", "swap_space", "host_cache")
SERVING = ("load", "init", "rollout")
_UPDATES = ("actor_update", "optimizer_step")
_GRADIENTS = {"actor_gradients": _UPDATES, "critic_gradients": ("critic",)}  # and the phases of their updates
_TRAINED = ("actor_gradients", "actor_optimizer", "critic_gradients", "critic_optimizer")  # made by the first update
ENGINES = (
    "vllm",
    "sglang",
    "lmdeploy",
)  # engines with weights and a pool of their own; with others the trainer generates
_WHO_RUNS = {
    "values": "critic",
    "critic": "critic",
    "ref_logprob": "ref",
    "reward": "reward",
}  # every other phase: the actor
_SAMPLED = ("gathered_weights", "sampled_scores", "scores_on_the_way")  # where the trainer's own model generates
PLACES = ("critic_place", "ref_place", "reward_place")
_ON_CPU = {"actor_weights": "param_on_cpu", "actor_optimizer": "optimizer_on_cpu"}  # what a switch keeps on the host


def of_server() -> Residents:
    """What stands on the cards of an engine without a trainer: its weights, then what its start adds."""
    started = ("engine_weights", "kv_pool", "engine_graphs")
    return {(phase, "gpu"): started[:1] if phase == "load" else started for phase in SERVING}


def is_online(values: Values, framework: Framework) -> bool:
    """Whether the run samples; of an algorithm that nobody here knows what its trainer is for."""
    algo = str(values.get("algo", ""))
    if algo in ONLINE_ALGOS or algo.startswith(OFFLINE_ALGOS):
        return algo in ONLINE_ALGOS
    return "rollout" in framework.phases and not framework.fallback


def has_critic(values: Values) -> bool:
    """As stated; PPO has one by definition (Schulman et al. 2017, arXiv:1707.06347)."""
    return values.get("has_critic", values.get("algo") == "ppo") is True


def has_reference(values: Values, online: bool) -> bool:
    """A preference loss has one; a distillation has a teacher in its place, unless another machine answers for it."""
    if not online:
        told = values.get("has_ref") is not False or values.get("algo") not in WITH_TEACHER
        return values.get("algo") in WITH_REFERENCE and told
    return values.get("has_ref") is True


def has_engine(framework: Framework, values: Values) -> bool:
    """Whether an engine generates. Of an unknown trainer nothing is assumed: it has one where something of the engine is known."""
    if "rollout_engine" in values or not framework.fallback:
        return values.get("rollout_engine", ENGINES[0]) in ENGINES
    return any(id in values for id in ("gpu_memory_utilization", "kv_pool_gib", "rollout_tp", "engine_version"))


def without_engine(values: Values) -> tuple[str, ...]:
    """The phases of an engine that a trainer does not have which generates by itself; a reference may be brought up to date in one."""
    phases = ("init", "weight_sync")
    own = values.get("rollout_engine") == "hf" and values.get("sync_ref") is not True
    return phases if own and values.get("phase") not in phases else ()


def residents(
    entries: tuple[Resident, ...],
    framework: Framework,
    values: Values,
    phases: tuple[str, ...],
    online: bool,
    writes: bool,
) -> Residents:
    """What stays where during each of these phases, in the order of the record's ``entries`` that hold.

    ``writes``: whether a model's own answers are sampled, as always ``online``.
    """
    kept: list[_Kept] = []
    engine = has_engine(framework, values)
    apart = online and any(values.get(place) in ("own", "critic") for place in PLACES)
    # of an unknown trainer that trains adapters it is taken that those of its critic are as small
    small = ("critic_gradients", "critic_optimizer") if framework.fallback and adapters(values) else ()
    for entry in entries:
        if entry.what not in small and _exists(entry.what, values, online, writes, engine):
            for pool in _pools(entry.what, entry.pool, values):
                stays = _on_card(entry.phases, values) if pool == "gpu" != entry.pool else entry.phases
                parted = apart and pool == "gpu"
                here = _on_the_same_cards(entry.what, stays, values) if parted else stays
                kept.append((entry.what, pool, _until_the_step(entry.what, here, values) if pool == "gpu" else here))
    return _laid_out((*kept, *_of_stage_3(values, phases, online, apart)), phases)


def stays_whole(values: Values) -> bool:
    """Whether the gradients' buffer is made once and stays: DeepSpeed's at stage 3.

    (deepspeedai/DeepSpeed@edaa722 runtime/zero/stage3.py: grad_partitions_flat_buffer; at other stages zero_grad drops them.)
    """
    return values.get("strategy") == "deepspeed" and values.get("zero_stage") == 3


def _until_the_step(what: str, phases: tuple[str, ...], values: Values) -> tuple[str, ...]:
    """Of the phases in which gradients may stand those up to the optimizer's step, where DeepSpeed then drops them."""
    if what not in _GRADIENTS or values.get("strategy") != "deepspeed" or stays_whole(values):
        return phases
    own = _GRADIENTS[what]
    return tuple(phase for phase in phases if phase in own)


def _of_stage_3(values: Values, phases: tuple[str, ...], online: bool, apart: bool) -> list[_Kept]:
    """What DeepSpeed's stage 3 keeps beside its shards whatever the trainer: a bucket for each model that trains, and hpZ's second shard.

    What is offloaded between updates takes the bucket along (runtime/zero/stage3.py: offload_states, contiguous_grad_buffer).
    """
    if not stays_whole(values) or values.get("trains") is False or values.get("only_validates") is True:
        return []
    roles = ("actor", "critic") if online and has_critic(values) else ("actor",)
    found: list[_Kept] = []
    for role in roles:
        what, own = f"{role}_bucket", _GRADIENTS[f"{role}_gradients"]
        away = values.get("optimizer_offload" if role == "actor" else "critic_optimizer_offload") is True
        stays = own if away else tuple(phase for phase in phases if phase not in ("load", "init"))
        found.append((what, "gpu", _on_the_same_cards(what, stays, values) if apart else stays))
    group = values.get("hpz_size")
    return [*found, ("second_shard", "gpu", phases)] if isinstance(group, int) and group > 1 else found


@lru_cache(maxsize=256)
def _laid_out(kept: tuple[_Kept, ...], phases: tuple[str, ...]) -> Residents:
    """What stays, by phase and pool; nearly every change that is tried on a run leaves it as it is."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for what, pool, stays in kept:
        for phase in stays:
            if phase in phases:
                found.setdefault((phase, pool), {})[what] = None
    return {place: tuple(each) for place, each in found.items()}


def optimizer_share(values: Values, pool: str) -> float:
    """The share of the optimizer's state that stands in this pool: all of it, unless a CPU optimizer takes a part.

    The part is counted in parameters (Megatron-LM core/optimizer/cpu_offloading/hybrid_optimizer.py: offload_fraction).
    """
    if values.get("optimizer_on_cpu") is not True:
        return 1.0
    fraction = values.get("optimizer_cpu_fraction")
    on_host = min(1.0, max(0.0, float(fraction))) if isinstance(fraction, (int, float)) else 1.0
    return on_host if pool == "host" else 1.0 - on_host


def keeps_masters(values: Values) -> bool:
    """Whether an optimizer on the CPU updates copies of fp32 masters that stay on the card.

    Megatron's makes the masters of the shard before it is told where to step, and only its precision-aware optimizer steps on the 16-bit
    weights themselves (Megatron-LM core/optimizer/distrib_optimizer.py: shard_main_param; cpu_offloading/hybrid_optimizer.py:
    _get_sub_optimizer_param_groups).
    """
    on_cpu = values.get("optimizer_on_cpu") is True and values.get("strategy") == "megatron"
    return on_cpu and values.get("precision_aware_optimizer") is not True


def critic_in_one_pass(values: Values, does: Mapping[str, Value]) -> bool:
    """Whether the critic is one module with the actor, so that a pass goes through both and a gathering gathers both."""
    return does.get("critic_module") == "with_actor" and has_critic(values)


def runs_on(phase: str, values: Values) -> str:
    """The role on whose cards a phase of an online training runs."""
    role = _WHO_RUNS.get(phase, "actor")
    # rewards that no model on the cards gives are no other card's matter
    return "actor" if role == "reward" and values.get("has_reward_model") is not True else stands_on(role, values)


def stands_on(role: str, values: Values) -> str:
    """The role on whose cards this one stands: the actor's unless a fact gives it others."""
    place = values.get(f"{role}_place")
    if place == "critic":
        return stands_on("critic", values)
    return role if place == "own" else "actor"


def _on_the_same_cards(what: str, phases: tuple[str, ...], values: Values) -> tuple[str, ...]:
    """Those of the phases that run on the cards on which this stands."""
    role = what.partition("_")[0]
    here = stands_on(role, values) if f"{role}_place" in PLACES else "actor"
    return tuple(phase for phase in phases if runs_on(phase, values) == here)


def _exists(what: str, values: Values, online: bool, writes: bool, engine: bool) -> bool:
    """Whether this run has such a thing at all. Under adapters the base serves as the reference, unless that has cards of its own."""
    if what in _SAMPLED or (what == "kv_pool" and not engine):
        return writes and not engine
    if what in _TRAINED and values.get("only_validates") is True:
        return False
    if what in _ENGINE or what == "state_dict_copy":
        return writes and values.get("rollout_mode") != "server" and engine
    if what.startswith("ref_"):
        second = values.get("algo") in WITH_TEACHER or not adapters(values) or stands_on("ref", values) == "ref"
        return has_reference(values, online) and second
    if what == "teacher_weights":
        return online and "teacher_b" in values and not (values.get("teacher_is_base") and adapters(values))
    if what.startswith("critic_"):
        return online and has_critic(values)
    if what.startswith("reward_"):
        return online and values.get("has_reward_model") is True
    return True


def _pools(what: str, pool: str, values: Values) -> tuple[str, ...]:
    """The pool or, of an optimizer that is on both, the pools."""
    if what == "actor_optimizer" and (0 < optimizer_share(values, "gpu") < 1 or keeps_masters(values)):
        return ("host", "gpu")
    return (_lives_on(what, pool, values),)


def _on_card(phases: tuple[str, ...], values: Values) -> tuple[str, ...]:
    """Of the phases in which a CPU optimizer stands on the host those in which its other part is on the card: an offload moves that too.

    (verl-project/verl@b178a3c verl/utils/megatron_utils.py: offload_megatron_optimizer)
    """
    if values.get("optimizer_offload") is not True:
        return phases
    return tuple(phase for phase in phases if phase in _UPDATES)


def _lives_on(what: str, pool: str, values: Values) -> str:
    """The pool, after the switches that keep something on the host for good.

    A CPU optimizer takes its gradients along, where they leave the card at all.
    """
    if what == "actor_gradients":
        return "host" if gradients_leave(values) else "gpu" if values.get("optimizer_on_cpu") is True else pool
    stays = _ON_CPU.get(what)
    if stays == "param_on_cpu" and not _may_stay_on_host(values):
        return pool
    return "host" if stays and values.get(stays) is True else pool


def gradients_leave(values: Values) -> bool:
    """Whether gradients go to an optimizer on the host as they come: DeepSpeed's own part does (zero/stage3.py), but not at stage 1.

    There every gradient stays at its parameter until the step (deepspeedai/DeepSpeed@edaa722 zero/stage_1_and_2.py: reduce_ipg_grads).
    Megatron's main gradients are one fp32 buffer beside the weights (Megatron-LM core/distributed/param_and_grad_buffer.py). Where nothing
    is sharded they are read when the backward pass is over (lsdefine/lsrl@835f76c lsrl/cpuadamw.py: step).
    """
    strategy, stage = values.get("strategy"), values.get("zero_stage")
    stays = strategy == "megatron" or (strategy == "deepspeed" and stage in (0, 1))
    stays |= strategy in (None, "none", "ddp") and stage in (None, 0, 1)
    return values.get("optimizer_on_cpu") is True and not stays


def _may_stay_on_host(values: Values) -> bool:
    """Whether anything brings weights that live on the host to the card as they are used: of DeepSpeed only stage 3 does.

    deepspeedai/DeepSpeed@edaa722 deepspeed/runtime/zero/config.py: offload_param. One card that nothing shards has nothing that would.
    """
    strategy = values.get("strategy")
    if strategy == "deepspeed":
        return values.get("zero_stage", 3) == 3
    return strategy is not None or values.get("n_gpus") != 1
