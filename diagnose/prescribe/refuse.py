"""What people expect to see and what speaks against it: tried, another pool or phase, not in this framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from diagnose.allocator import crammed, idle_gib
from diagnose.conditions import holds
from diagnose.knowledge.records import Lever
from diagnose.prescribe.beyond import beyond_a_card
from diagnose.prescribe.evidence import Record
from diagnose.prescribe.outcome import POOL_WORDS, Refusal, Trial
from diagnose.prescribe.situation import NOT_A_PEAK, Situation
from diagnose.types import NotAdvised
from diagnose.units import KIB
from diagnose.vocabulary import FACTS, KINDS, OF_ENGINE_START, OFFLINE_ALGOS, ONLINE_ALGOS

MOST = 8
# Levers with an order up to this are what anybody names first.
TOP_ORDER = 25
# … and up to this even where the other pool runs out.
FIRST_ORDER = 14
# Groups of facts that describe a training, and those of them that a program without one has as well.
_TRAINERS = ("run", "sizes", "memory")
_ANYBODYS = ("params_b", "model", "framework_version", "torch_version", "expandable_segments", "max_pixels")
# These run on cards of the trainer, whichever role's they are.
_OFF_THE_ENGINE = (
    "logprob",
    "ref_logprob",
    "values",
    "reward",
    "critic",
    "actor_update",
    "optimizer_step",
    "checkpoint",
)
# What the trainer holds on its cards and what it takes in a pass; lengths and numbers of samples are the engine's as well.
_HELD_BY_THE_TRAINER = (
    "optimizer_on_cpu",
    "param_on_cpu",
    "gradient_checkpointing",
    "zero_stage",
    "micro_batch",
    "micro_tokens",
    "full_or_lora",
    "lora_rank",
    "has_ref",
    "has_critic",
    "tp",
    "pp",
    "sp",
    "n_gpus",
    "trainer_gpus",
    "cards_per_process",
    "critic_gpus",
    "ref_gpus",
    "reward_gpus",
)
# Settings of an update that somebody pastes who trains; the others may as well be those of a merge or of an inference.
_OF_UPDATES = ("micro_batch", "gradient_accumulation", "gradient_checkpointing", "optimizer")
_OF_A_RUN = (*_OF_UPDATES, "full_or_lora", "quantization", "max_length", "zero_stage", "strategy")
# One of these in a paste speaks of an engine.
_OF_ENGINES = (
    "rollout_engine",
    "rollout_mode",
    "gpu_memory_utilization",
    "max_model_len",
    "rollout_tp",
    "max_num_seqs",
)
# How the facts of either role begin.
_CRITIC, _REFERENCE = ("critic_", "has_critic", "values_"), ("ref_", "has_ref")
_ROLES = (_CRITIC, _REFERENCE)
_PHASES_OF_ROLES = ("critic", "values", "ref_logprob")
_RANK = {"cured": -1, "tried": 0, "on": 1, "refused": 2, "elsewhere": 3, "no_gain": 4, "untold": 5, "absent": 6}


def tried(lever: Lever, situation: Situation) -> NotAdvised | None:
    """The text says that it was tried and did not help, or that it was done and cured the failure."""
    for attempt in situation.facts.tried:
        if attempt.lever == lever.slug and attempt.cured:
            why = f"The text says that it cured the failure (line {attempt.span.line})."
            return NotAdvised(lever, "cured", why, attempt.span)
        if attempt.lever == lever.slug and not attempt.helped:
            return NotAdvised(lever, "tried", f"You tried it (line {attempt.span.line}).", attempt.span)
    return None


def with_further_step(refused: NotAdvised, trial: Trial | Refusal, situation: Situation) -> NotAdvised:
    """What was tried, with the step that would bite after all, or with the word that none does."""
    before = situation.failing
    if isinstance(trial, Refusal) or trial.after is None or before is None or not trial.changes:
        return refused
    change = trial.changes[0]
    figures = f"{before.shown} → {trial.after.shown} GiB"
    return replace(refused, why=f"{refused.why} It would take {change.key or change.fact} = {change.after}: {figures}.")


def of_training(lever: Lever, situation: Situation) -> bool:
    """Whether it changes a training alone, where the command runs an engine and trains nothing."""
    if situation.values.get("trains") is not False or not lever.changes:
        return False
    return all(FACTS[change.fact].group in _TRAINERS and change.fact not in _ANYBODYS for change in lever.changes)


def of_no_training(lever: Lever, situation: Situation) -> bool:
    """Whether it is for what trains nothing, where a trainer, its algorithm or a setting of an update is known and nothing denies it."""
    trained = (
        situation.facts.trainer
        or situation.facts.builds_optimizer
        or any(situation.facts.certain(id) for id in ("algo", *_OF_UPDATES))
    )
    return bool(trained) and situation.values.get("trains") is not False and lever.when.get("trains") is False


def fixed(lever: Lever, situation: Situation) -> bool:
    """Whether all that it changes, or is told to be on by, is what the fork that trains leaves no choice in."""
    fork, moves = situation.facts.fork, [change.fact for change in lever.changes] or list(lever.on)
    return fork is not None and bool(moves) and all(fact in fork.fixed for fact in moves)


# what the failure is, and how passes are cut, of which people name either way
_OF_FAILURE = ("oom_kind", "phase", "dynamic_batch")
_TO_HOST = ("_offload", "_on_cpu")


def wrong_pool(lever: Lever, situation: Situation) -> NotAdvised | None:
    """It acts on the other memory than the one that runs out; nothing is said of what this run could not do in either."""
    run = {id: asked for id, asked in lever.when.items() if id not in _OF_FAILURE}
    if holds(run, situation.values) is False:
        return None
    if situation.values.get("one_memory") and any(one.fact.endswith(_TO_HOST) and one.to for one in lever.changes):
        return NotAdvised(lever, "elsewhere", "Cards and host have one memory here: what leaves the card stays in it.")
    if situation.pool is None or situation.pool in lever.pools:
        return None
    acts = " and ".join(POOL_WORDS[pool] for pool in ("gpu", "host") if pool in lever.pools)
    out = KINDS["host_shm"] if situation.kind == "host_shm" else POOL_WORDS[situation.pool]
    return NotAdvised(lever, "elsewhere", f"It acts on {acts}; what runs out is {out}.")


def of_an_engine(lever: Lever) -> bool:
    """Whether it acts on the rollout engine alone: by what it changes, or since it applies to some engines."""
    changed = bool(lever.changes) and all(FACTS[change.fact].group == "engine" for change in lever.changes)
    return changed or (not lever.changes and "rollout_engine" in lever.when)


def no_engine(lever: Lever, situation: Situation) -> bool:
    """Whether it acts on an engine of which nothing in the text of an unknown trainer speaks; a whole loop would name its own."""
    values = situation.values
    if not (of_an_engine(lever) or "rollout_engine" in lever.when) or situation.kind in NOT_A_PEAK:
        return False
    if values.get("trains") is False:
        return not any(situation.facts.certain(id) for id in _OF_ENGINES)
    if (
        situation.framework_known
        or situation.phase in ("init", "weight_sync", "rollout")
        or (values.get("algo") in ONLINE_ALGOS and not _makes_optimizer(situation))
    ):
        return False
    if situation.facts.fork is None and not any(situation.facts.certain(id) for id in _OF_A_RUN):
        return False  # a message alone
    return not any(id in values for id in _OF_ENGINES)


def _makes_optimizer(situation: Situation) -> bool:
    """Whether code of the person's own is pasted that makes the optimizer by itself."""
    return any(one.key == "optimizer_made_as" for one in situation.paste.settings)


def no_role(lever: Lever, situation: Situation) -> bool:
    """Whether it acts on a role alone: on a critic in training on rows, or on one of which the text of an unknown trainer tells nothing."""
    ids, values = [change.fact for change in lever.changes], situation.values
    if not ids or situation.phase in _PHASES_OF_ROLES:
        return False
    roles = [role for role in _ROLES if all(id.startswith(role) for id in ids)]
    if "algo" in values:
        return _CRITIC in roles and str(values["algo"]).startswith(OFFLINE_ALGOS)
    if situation.framework_known:
        return False
    return any(not any(id.startswith(role) for id in values) for role in roles)


def cards_untold(lever: Lever, situation: Situation) -> bool:
    """Whether it adds cards to a number that nobody tells."""
    return situation.facts.cards_open and any(change.fact == "n_gpus" for change in lever.changes)


def makes_no_room(lever: Lever, situation: Situation) -> NotAdvised | None:
    """It frees a card for one tensor that none holds, or acts against memory in pieces where figures or weights show a full card."""
    if situation.pool != "gpu":
        return None
    if found := beyond_a_card(lever, situation):
        return found
    if not lever.frees_unused:
        return None
    if situation.signs.get("weights_fit") is False:
        return NotAdvised(lever, "no_gain", "The weights alone are more than one card holds, in pieces or not.")
    if not crammed(situation.facts):
        return None
    idle = idle_gib(situation.facts) or 0.0
    said = f"{idle:,.1f} GiB" if idle >= 1 else f"{idle * KIB:,.0f} MiB"
    return NotAdvised(lever, "no_gain", f"{said} are free or reserved and unused: the card is full, not in pieces.")


def on_other_cards(lever: Lever, situation: Situation) -> NotAdvised | None:
    """It acts on the engine alone, which has cards of its own, while a card that trains runs out: as told, or by the estimate."""
    if not of_an_engine(lever) or situation.values.get("rollout_mode") != "server":
        return None
    if situation.pool == "host" and all(change.fact == "rollout_tp" for change in lever.changes):
        why = "The engine has cards of its own and stays awake: no copy of its weights stands on the host."
        return NotAdvised(lever, "elsewhere", why)
    sends = situation.phase == "weight_sync" and bool(situation.paste.frames) and "rollout" not in situation.facts.among
    may_be = {situation.phase} if situation.phase else set(situation.possible)
    trainers = bool(may_be) and may_be <= set(_OFF_THE_ENGINE)
    if not (trainers or sends or _in_trainers_frame(situation) or _trainer_runs_out(situation)):
        return None
    return NotAdvised(lever, "elsewhere", "The engine has cards of its own; what runs out is a card that trains.")


def of_the_trainer(lever: Lever, situation: Situation) -> NotAdvised | None:
    """It acts on what the trainer holds, while its engine runs out as it samples or gets its weights, on cards of its own."""
    engines = situation.phase == "rollout" or situation.kind in OF_ENGINE_START or situation.facts.engine_card
    if not engines or situation.pool != "gpu" or situation.values.get("rollout_mode") != "server":
        return None
    facts = [change.fact for change in lever.changes]
    held = bool(facts) and all(fact in _HELD_BY_THE_TRAINER or fact.endswith("_offload") for fact in facts)
    if not held or not (situation.facts.certain("rollout_engine") or situation.facts.engine_card):
        return None
    return NotAdvised(lever, "elsewhere", "The engine has cards of its own, and one of these runs out.")


def _in_trainers_frame(situation: Situation) -> bool:
    """Whether a frame of the traceback is one that only phases of the trainer have, though it is not told which of them."""
    framework = situation.facts.framework
    if situation.phase or framework is None:
        return False
    for frame in situation.paste.frames:
        phases = {one.phase for one in framework.frames if one.function == frame.function and one.path in frame.path}
        if frame.path and phases and phases <= set(_OFF_THE_ENGINE):
            return True
    return False


def _trainer_runs_out(situation: Situation) -> bool:
    """Whether nothing told says where it failed, and the trainer's own card overflows by the estimate."""
    failing = situation.failing
    gpu = situation.before.gpu
    if situation.phase or situation.pool != "gpu" or failing is None or gpu is None:
        return False
    return failing.phase in _OFF_THE_ENGINE and gpu.verdict(failing) == "out"


def dead(lever: Lever, situation: Situation) -> NotAdvised | None:
    """Its key stands in the paste but has no effect in this framework and version."""
    framework = situation.facts.framework
    for change in lever.changes:
        name = situation.facts.keys.get(change.fact, "")
        if name not in situation.facts.dead_keys or framework is None:
            continue
        says = next((key.dead for key in framework.keys if key.dead and name in (key.key, *key.aliases)), "")
        stated = situation.facts.stated.get(change.fact)
        why = f"{name} has no effect" + (f": {says}." if says else ".")
        return NotAdvised(lever, "absent", why, stated.span if stated else None)
    return None


def expected(refused: NotAdvised, situation: Situation, record: Record | None) -> bool:
    """Whether a person would look for it here: tried, named by near cases, or among the first that anybody names."""
    if refused.reason in ("tried", "cured"):
        return True
    if situation.pool is not None and situation.pool not in refused.lever.pools:
        return _named_for_any_failure(refused.lever)
    if record and (record.near or record.suggested) and refused.reason != "absent":
        return True
    return refused.span is not None or (refused.lever.order <= TOP_ORDER and refused.reason != "absent")


def _named_for_any_failure(lever: Lever) -> bool:
    """What people try against an update that runs out, and then against everything that says memory."""
    kinds, phases = lever.when.get("oom_kind", ()), lever.when.get("phase", ())
    usual = lever.order <= FIRST_ORDER and lever.results == "same"
    return usual and "gpu_oom" in kinds and "actor_update" in phases


def shown(refusals: list[NotAdvised], situation: Situation, records: Mapping[str, Record]) -> tuple[NotAdvised, ...]:
    """At most eight that people would expect: tried first, then what is on."""
    kept = [refused for refused in refusals if expected(refused, situation, records.get(refused.lever.slug))]
    kept = [
        refused for refused in kept if refused.reason in ("tried", "cured") or not _supposed(refused.lever, situation)
    ]
    kept.sort(key=lambda refused: (_RANK[refused.reason], refused.lever.order, refused.lever.slug))
    return tuple(kept[:MOST])


def _supposed(lever: Lever, situation: Situation) -> bool:
    """Whether it is for a part of a run, such as a critic, of which nothing says that this run has it."""
    return any(test is True and id not in situation.values for id, test in lever.when.items())
