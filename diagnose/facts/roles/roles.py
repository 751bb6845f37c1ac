"""Cards by role: ``actor_num_nodes`` × ``actor_num_gpus_per_node`` and its like for every role, and the engines beside them.

Or two pools, the trainer's and the engines': ``trainer.nnodes`` × ``trainer.n_gpus_per_node`` and the same of ``rollout``.
Or a cluster from which engines that are not colocated take their part: ``cluster.num_nodes`` and ``colocated.resources.num_nodes``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping

from diagnose.facts.settings import written
from diagnose.facts.settings.spelling import normal
from diagnose.types import Fact, Paste, Setting

_ROLE = re.compile(r"(?P<role>[a-z]+)[_.]num_(?P<what>nodes|gpus_per_node)$", re.A)
_BESIDE = ("critic", "ref", "reward")  # the roles beside the actor whose phases may run on cards of their own
_TRAINED = {"actor", "policy"}  # two names of one role
_TOGETHER = re.compile(r"colocate_(?P<first>[a-z]+)_(?P<second>[a-z]+)$", re.A)
_POOL = re.compile(r"(?:^|\.)(?P<pool>trainer|rollout)\.n_?(?P<what>nodes|gpus_per_node)$", re.A)
_CLUSTER = re.compile(r"(?:^|\.)(?P<pool>cluster|colocated\.resources)\.(?:num_)?(?P<what>nodes|gpus_per_node)$", re.A)
_OF_A_MACHINE = 8  # the most cards that both pools together have where they stand on the same machines
# what splits the cards of an engine, and of each part the sizes that take cards: those of experts stand on the same ones
_ENGINES_SPLIT = re.compile(r"(?:sglang|vllm)(?:\[\w+\])?[:.](?:[dptm]\d+)+$", re.A)
_SIZE = re.compile(r"[dptcm](\d+)", re.A)
_EXPERTS = re.compile(r"\|ffn:[\w]+", re.A)
_RENTED = re.compile(r"(?:^|[_.])rollout_num_gpus$", re.A)
_LEARNERS = re.compile(r"(?:^|\.)num_learners_per_node$", re.A)
_SHARED = re.compile(r"(?:^|\.)single_gpu_mode$", re.A)
_ENGINES = re.compile(r"(?:^|[_.])num_(?:inference_)?engines$", re.A)
_ENGINE_TP = re.compile(r"(?:vllm|engine|rollout)\w*[_.]tensor_parallel_size$", re.A)


def pool_cards(paste: Paste) -> dict[str, Fact]:
    """Cards of the whole run and of the trainer where engines have a pool of cards of their own; empty where they have none.

    As many nodes in both pools, with no more cards together than a machine has, are taken to be the same machines.
    """
    pools: dict[str, dict[str, int]] = {"trainer": {}, "rollout": {}}
    for setting in paste.settings:
        number = written.number(setting.value)
        if (found := _POOL.search(normal(setting.key))) and isinstance(number, int):
            pools[found["pool"]][found["what"]] = number
    trainer, engines = pools["trainer"], pools["rollout"]
    if not (trainer.get("gpus_per_node") and engines.get("gpus_per_node") and engines.get("nodes")):
        return {}
    each, beside = trainer["gpus_per_node"], engines["gpus_per_node"]
    trains, samples = trainer.get("nodes", 1), engines["nodes"]
    together = trains == samples and each + beside <= _OF_A_MACHINE
    numbers = {
        "n_nodes": trains if together else trains + samples,
        "gpus_per_node": each + beside if together else max(each, beside),
        "n_gpus": trains * each + samples * beside,
        "trainer_gpus": trains * each,
    }
    return {
        id: Fact(id, number, "derived", why="the trainer's cards and the engines'") for id, number in numbers.items()
    }


def cluster_cards(paste: Paste) -> dict[str, Fact]:
    """The same where engines take cards of a cluster: of its only node so many, of several whole nodes (NVIDIA-NeMo/RL@7ea279abf
    nemo_rl/algorithms/grpo.py: setup). Empty where they share those of the trainer.
    """
    numbers: dict[str, int] = {}
    apart = False
    for setting in paste.settings:
        key, number = normal(setting.key), written.number(setting.value)
        apart = written.truth(setting.value) is False if key.endswith("colocated.enabled") else apart
        if (found := _CLUSTER.search(key)) and isinstance(number, int):
            numbers[f"{found['pool'].split('.')[0]} {found['what']}"] = number
    nodes, each = numbers.get("cluster nodes", 1), numbers.get("cluster gpus_per_node", 0)
    beside = numbers.get("colocated nodes" if nodes > 1 else "colocated gpus_per_node", 0)
    trains = (nodes - beside) * each if nodes > 1 else each - beside
    if not (apart and beside and trains > 0):
        return {}
    counts = {"n_nodes": nodes, "gpus_per_node": each, "n_gpus": nodes * each, "trainer_gpus": trains}
    return {
        id: Fact(id, count, "derived", why="the engines take their part of the cluster") for id, count in counts.items()
    }


def allocated_cards(stated: Mapping[str, Fact], paste: Paste) -> dict[str, Fact]:
    """All cards where one word, or one of each role, says how engines and trainer split theirs: ``sglang:d4t2+fsdp:d8``.

    Parts that a plus joins have cards of their own (inclusionAI/AReaL v0.5.0 areal/api/alloc_mode.py: AllocationMode.world_size).
    """
    trains = stated.get("trainer_gpus")
    if trains is None or not trains.certain or {"n_gpus", "n_nodes"} & stated.keys():
        return {}
    word = trains.written if "+" in trains.written else ""
    for setting in () if word else paste.settings:
        if "rollout" in normal(setting.key) and _ENGINES_SPLIT.match(written.bare(setting.value)):
            word = f"{written.bare(setting.value)}+{trains.written}"
    parts = [_split_over(part) for part in _EXPERTS.sub("", word).split("+")]
    if len(parts) != 2 or int(trains.value) != parts[1] or not parts[0]:
        return {}
    return {"n_gpus": Fact("n_gpus", sum(parts), "derived", why="the cards of all parts of the allocation")}


def _split_over(part: str) -> int:
    """The cards of one part; 0 where it shares them with another."""
    sizes = [int(size) for size in _SIZE.findall(re.split(r"[:.]", part)[-1])]
    return math.prod(sizes) if sizes and "|" not in part else 0


def learner_cards(paste: Paste) -> dict[str, Fact]:
    """The same where learners are listed node by node (``8 8 4``) and each engine has cards of its own, unless one card holds both.

    An engine that is not counted is one (allenai/open-instruct@e6c3044aa open_instruct/grpo_fast_resource_plan.py,
    data_loader.py: VLLMConfig).
    """
    values = {normal(setting.key): setting.value for setting in paste.settings}
    listed = next((value for key, value in values.items() if _LEARNERS.search(key)), "")
    learners = sum(int(number) for number in re.findall(r"\d+", listed))
    if not learners:
        return {}
    shared = any(written.truth(value) is True for key, value in values.items() if _SHARED.search(key))
    engines = 0 if shared else _engines(values) or _engines({**values, "num_engines": "1"})
    counts = {"n_gpus": learners + engines, "trainer_gpus": learners}
    return {id: Fact(id, count, "derived", why="the learners' cards and the engines'") for id, count in counts.items()}


def rented_cards(paste: Paste) -> dict[str, Fact]:
    """The same where the engines are told a number of cards in all: those of the actor if they are colocated, else others beside them.

    A critic is trained on the actor's cards (THUDM/slime@624b824a8 slime/ray/placement_group.py: _get_placement_group_layout).
    """
    values = {normal(setting.key): setting.value for setting in paste.settings}
    count = {name: written.number(values.get(f"actor_num_{name}", "")) for name in ("nodes", "gpus_per_node")}
    engines = next((written.number(value) for key, value in values.items() if _RENTED.search(key)), None)
    each, nodes = count["gpus_per_node"], count["nodes"] or 1
    if not (isinstance(engines, int) and isinstance(each, int) and isinstance(nodes, int) and each * engines > 0):
        return {}
    shared = written.truth(values.get("colocate", "")) is True
    total = max(nodes * each, engines) if shared else nodes * each + engines
    counts = {"n_gpus": total, "trainer_gpus": nodes * each}
    if total == nodes * each:
        counts |= {"n_nodes": nodes, "gpus_per_node": each}
    elif nodes == 1 and total <= _OF_A_MACHINE:
        counts |= {"n_nodes": 1, "gpus_per_node": total}
    return {id: Fact(id, number, "derived", why="the actor's cards and the engines'") for id, number in counts.items()}


def role_cards(paste: Paste, stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """Cards of the whole run and of each role where every role has its own count.

    Empty with one role, but for one that trains beside engines.
    A role that the run is ``stated`` to do without has none, whatever its count is left at. Roles that share cards (``colocate_a_b``,
    ``colocate_all_models``) count once; engines count with their tensor parallel size.
    """
    settings = {normal(setting.key): setting for setting in paste.settings}
    roles = _counted(settings)
    cards = {
        role: count.get("nodes", 1) * count["gpus_per_node"]
        for role, count in roles.items()
        if "gpus_per_node" in count and not _missing(role, stated)
    }
    engines = _engines({key: setting.value for key, setting in settings.items()})
    alone = sum("gpus_per_node" in count for count in roles.values()) < 2
    if not cards or (alone and not (engines and _TRAINED & cards.keys())):
        return {}
    told = {key: written.truth(setting.value) for key, setting in settings.items() if "colocate" in key}
    on = {key for key, yes in told.items() if yes} | _unless_told(told, cards)
    everything = any("all" in key.rsplit("colocate_", 1)[-1].split("_") for key in on)
    if alone and everything:
        return {}
    total = max([*cards.values(), engines]) if everything else _total(cards, on) + engines
    first = next((role for role in cards if role in _TRAINED), next(iter(cards)))
    beside = {} if everything else {f"{role}_gpus": cards[role] for role in _BESIDE if role in cards}
    machines = {count.get("nodes", 1) for count in roles.values()}
    # a “node” of one card is a place for a worker, of which a machine has several
    places = len(machines) == 1 and max(machines) > 1 and set(cards.values()) == machines
    together = everything and len(machines) == 1 and engines <= total and not places
    return {
        **(
            {"n_nodes": Fact("n_nodes", machines.pop(), "derived", why="all roles share the same nodes")}
            if together
            else {}
        ),
        "n_gpus": Fact("n_gpus", total, "derived", why="the sum of the roles"),
        "trainer_gpus": Fact("trainer_gpus", cards[first], "derived", why="the actor's cards"),
        **{id: Fact(id, count, "derived", why="its own count") for id, count in beside.items()},
    }


def _counted(settings: Mapping[str, Setting]) -> dict[str, dict[str, int]]:
    """Nodes and cards of each by the role that they are told of."""
    roles: dict[str, dict[str, int]] = {}
    for key, setting in settings.items():
        number = written.number(setting.value)
        if (found := _ROLE.search(key)) and isinstance(number, int):
            roles.setdefault(found["role"], {})[found["what"]] = number
    return roles


def _missing(role: str, stated: Mapping[str, Fact]) -> bool:
    fact = stated.get(f"has_{role}")
    return fact is not None and fact.value is False


def _unless_told(told: Mapping[str, bool | None], cards: Collection[str]) -> set[str]:
    """What roles share where nothing says otherwise, by the trainer that has a policy and no actor (NovaSky-AI/SkyRL@a9564572e
    skyrl/train/config/config.py: PlacementConfig).
    """
    usual = ("colocate_all", "colocate_policy_ref") if "policy" in cards else ()
    return {one for one in usual if not any(key.endswith(one) for key in told)}


def _total(cards: dict[str, int], on: set[str]) -> int:
    """Every group of roles that share cards by its largest."""
    group = {role: role for role in cards}
    for key in on:
        found = _TOGETHER.search(key)
        if found and {found["first"], found["second"]} <= set(cards):
            group[found["second"]] = group[found["first"]]
    return sum(max(cards[role] for role in cards if group[role] == one) for one in set(group.values()))


def _engines(values: dict[str, str]) -> int:
    count = next((written.number(value) for key, value in values.items() if _ENGINES.search(key)), None)
    width = next((written.number(value) for key, value in values.items() if _ENGINE_TP.search(key)), None)
    return int(count or 0) * int(width or 1)
