"""Cards by the launcher: a list of visible devices, processes per node, nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from diagnose.facts.settings import written
from diagnose.facts.settings.spelling import normal
from diagnose.types import Fact, Paste, Setting
from diagnose.vocabulary import Value

# The launchers' own arguments, whatever they launch: torchrun, deepspeed, accelerate.
_PER_NODE = ("nproc_per_node", "num_gpus")
_TOTAL = ("num_processes",)
OF_PROCESSES = _TOTAL + _PER_NODE
_NODES = ("nnodes", "num_nodes", "num_machines")
# the same in a trainer's own configuration, below any head: only both together tell the cards of a run
_CONFIGURED = (("gpus_per_node", "n_gpus_per_node", "num_gpus_per_node"), ("num_nodes", "n_nodes", "nnodes"))
# what a list of devices tells
_OF_A_LIST = ("n_gpus", "trainer_gpus", "cards_per_process")
VISIBLE = ("cuda_visible_devices", "ascend_rt_visible_devices", "hip_visible_devices")
# arguments of launchers that list them: deepspeed (0.18.9 launcher/runner.py: parse_resource_filter), accelerate
_INCLUDED, _IDS = "include", "gpu_ids"
# a device by its number, the first and the last of several, or a whole card by its UUID
_DEVICE = re.compile(r"(?P<first>\d{1,4})(?:-(?P<last>\d{1,4}))?|GPU-[0-9a-fA-F-]{6,36}", re.A)
# what Ray gives one actor or one task is no number of cards of a node
_OF_AN_ACTOR = re.compile(r"(?:\bremote|\.options)\s*\([^()\n]{0,400}$", re.A)


def launched(paste: Paste, stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """What the launchers say; where the trainer's keys tell nodes and cards of each, a list of devices is one node's or another's.

    Of more cards that somebody answers, fewer processes than these train on as many as they are.
    """
    found = _launchers(paste, stated["n_nodes"].value if "n_nodes" in stated else None)
    if (mode := stated.get("rollout_mode")) is not None and mode.value == "server":
        found = _of_trainer(found, stated)
    keyed = [stated.get(id) for id in ("n_nodes", "gpus_per_node")]
    if all(fact is not None and fact.certain for fact in keyed):
        return {id: fact for id, fact in found.items() if id not in ("n_gpus", "trainer_gpus", "cards_per_process")}
    if (each := keyed[1]) is not None and each.certain and _fewer_seen(found, each):
        return {id: fact for id, fact in found.items() if id not in _OF_A_LIST and fact.origin == "read"}
    cards, started = stated.get("n_gpus"), found.get("n_gpus")
    answered = cards is not None and cards.origin == "answered"
    if cards and started and answered and _all_of_them(found) and float(started.value) < float(cards.value):
        found.setdefault("trainer_gpus", replace(started, id="trainer_gpus"))
    return found


def spoken_processes(stated: Mapping[str, Fact]) -> tuple[dict[str, Fact], Mapping[str, Fact]]:
    """The processes that a launcher starts where a sentence names its argument, “num_processes 7”, and all else.

    The run may have more cards than these.
    """
    cards = stated.get("n_gpus")
    if cards is None or cards.origin != "read" or normal(cards.key) not in OF_PROCESSES:
        return {}, stated
    return {cards.id: cards}, {id: fact for id, fact in stated.items() if id != cards.id}


def with_lists(found: dict[str, Fact], launchers: Mapping[str, Fact]) -> dict[str, Fact]:
    """Both together; the lists of devices of several commands hold more cards than one of these starts processes."""
    cards, listed = found.get("n_gpus"), launchers.get("n_gpus")
    if cards is None or listed is None or normal(cards.key) not in OF_PROCESSES:
        return {**launchers, **found}
    if "trainer_gpus" in launchers and float(listed.value) > float(cards.value):
        return {**found, **launchers}
    return {**launchers, **found}


def on_nodes(found: dict[str, Fact], given: Mapping[str, Fact]) -> dict[str, Fact]:
    """Without the launcher's default of one machine, where the job is ``given`` several: each of them starts as many processes."""
    nodes, one, cards = given.get("n_nodes"), found.get("n_nodes"), found.get("n_gpus")
    if nodes is None or nodes.origin != "read" or nodes.value == 1 or one is None or one.origin != "derived":
        return found
    each = {"gpus_per_node": replace(cards, id="gpus_per_node")} if cards else {}
    return {**each, **{id: fact for id, fact in found.items() if id not in ("n_nodes", "n_gpus")}}


def _of_trainer(found: dict[str, Fact], stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """What is known of a run whose engine is served from cards of its own: processes are those that train."""
    cards = found.get("n_gpus")
    trains = "trains" not in stated or stated["trains"].value is True
    if cards is None or not trains or "trainer_gpus" in found or normal(cards.key) not in OF_PROCESSES:
        return found
    kept = {id: fact for id, fact in found.items() if id not in ("n_gpus", "gpus_per_node")}
    return {**kept, "trainer_gpus": replace(cards, id="trainer_gpus")}


def _fewer_seen(found: Mapping[str, Fact], each: Fact) -> bool:
    """Whether a list of devices holds fewer cards than the trainer is told that a node has: it is of an image or another process."""
    listed = found.get("n_gpus")
    return listed is not None and normal(listed.key) in VISIBLE and float(listed.value) < float(each.value)


def _all_of_them(found: Mapping[str, Fact]) -> bool:
    """Whether the cards are those of all processes: a launcher's total, or those of a node that it calls the only one."""
    cards, nodes = found["n_gpus"], found.get("n_nodes")
    alone = nodes is not None and nodes.origin == "read" and nodes.value == 1
    return cards.key in _TOTAL or (alone and cards.key in _PER_NODE)


def _launchers(paste: Paste, nodes_of_run: Value | None = None) -> dict[str, Fact]:
    """Cards by the launcher: a list of visible devices, processes per node, nodes; ``nodes_of_run`` are those that the trainer is told."""
    found: dict[str, Fact] = {}
    nodes = _last(paste, _NODES)
    if nodes:
        found["n_nodes"] = _read("n_nodes", nodes[1], nodes[0])
    devices = _visible(paste)
    per_node = _last(paste, _PER_NODE)
    if per_node:
        found["gpus_per_node"] = _read("gpus_per_node", per_node[1], per_node[0])
    one = (found["n_nodes"].value if "n_nodes" in found else nodes_of_run or (0 if _joins(paste) else 1)) == 1
    total = _last(paste, _TOTAL)
    if not (per_node or devices or total):
        _put_configured(paste, found)
    everything = {device for _, listed in devices for device in listed}
    if one and devices and len(everything) >= (per_node[1] if per_node else 0):
        found["n_gpus"] = _read("n_gpus", len(everything), devices[-1][0])
        started = per_node or (total if total and len(devices) > 1 else None)
        trained = started[1] if started else len(devices[-1][1]) if len(devices) > 1 else len(everything)
        if trained < len(everything):
            found["trainer_gpus"] = _read("trainer_gpus", trained, started[0] if started else devices[-1][0])
            found.pop("gpus_per_node", None)
        _put_seen(found, len(everything), devices[-1][0], (per_node, total), paste)
    elif per_node:
        if one:
            found["n_gpus"] = _read("n_gpus", per_node[1], per_node[0])
    elif total:
        found["n_gpus"] = _read("n_gpus", total[1], total[0])
    if one and "n_gpus" in found and "n_nodes" not in found and (devices or per_node):
        why = "the launcher's default is one machine"
        found["n_nodes"] = Fact("n_nodes", 1, "derived", why=why)
    return found


_OF_TORCH = ("torchrun", "torch.distributed.run", "torch.distributed.launch", "deepspeed")
_HOSTS = ("hostfile", "include", "launcher", "node_rank", "master_addr", "num_nodes", "nnodes")
_ONE_MACHINE = 8  # cards that stand in one where nothing says more


def by_torch(paste: Paste) -> bool:
    """Whether torch's launcher or DeepSpeed's starts the run: they take no file that tells how it is sharded."""
    started = [word for command in paste.commands for word in command.words]
    return any(word in _OF_TORCH for word in started) and not any(word.startswith("accelerate") for word in started)


def one_launched(paste: Paste, known: Mapping[str, Fact]) -> dict[str, Fact]:
    """One machine, where DeepSpeed's launcher is given no file of hosts and the cards are no more than one holds.

    deepspeedai/DeepSpeed v0.16.4 deepspeed/launcher/runner.py: fetch_hostfile. Without one it takes all cards of the machine.
    """
    cards, starts = known.get("n_gpus"), any(command.words[:1] == ("deepspeed",) for command in paste.commands)
    if not starts or cards is None or {"n_nodes", "gpus_per_node"} & known.keys() or float(cards.value) > _ONE_MACHINE:
        return {}
    if any(normal(setting.key) in _HOSTS for setting in paste.settings):
        return {}
    return {"n_nodes": Fact("n_nodes", 1, "derived", why="the launcher is given no file of hosts")}


def _joins(paste: Paste) -> bool:
    """Whether a machine joins the cluster of another one: there are several, and nothing here says how many."""
    starts = {at for at, command in enumerate(paste.commands) if command.words[:2] == ("ray", "start")}
    return any(setting.command in starts and normal(setting.key) == "address" for setting in paste.settings)


def _one_a_card(paste: Paste) -> bool:
    """Whether the launcher starts a process for every card that it sees (deepspeed 0.18.9 launcher/runner.py: main)."""
    return any("deepspeed" in command.words[:1] for command in paste.commands)


def _put_seen(
    found: dict[str, Fact], cards: int, setting: Setting, told: tuple[tuple[Setting, int] | None, ...], paste: Paste
) -> None:
    """How many cards each process sees, where it is more than one: a launcher that is told no number starts one process."""
    if setting.shape == "env" and setting.command < 0 and not paste.commands:
        return  # a sentence, or a line of a script, that does not say what is started
    processes = next((number for _, number in filter(None, told)), cards if _one_a_card(paste) else 1)
    if processes < cards and cards % processes == 0:
        found["cards_per_process"] = _read("cards_per_process", cards // processes, setting)


def _put_configured(paste: Paste, found: dict[str, Fact]) -> None:
    """Cards of each node and nodes, where one section of a configuration gives both: a role that has no nodes of its own has 0."""
    sections: dict[str, dict[str, tuple[Setting, int]]] = {}
    for setting in paste.settings:
        head, _, name = normal(setting.key).rpartition(".")
        if head and isinstance(number := written.number(setting.value), int) and number > 0:
            sections.setdefault(head, {})[name] = setting, number
    for last in sections.values():
        each, nodes = (next((last[name] for name in names if name in last), None) for names in _CONFIGURED)
        if each and nodes:
            found["gpus_per_node"] = _read("gpus_per_node", each[1], each[0])
            found["n_nodes"] = _read("n_nodes", nodes[1], nodes[0])


def _visible(paste: Paste) -> list[tuple[Setting, frozenset[str]]]:
    listed = []
    for setting in paste.settings:
        if devices := devices_of(_list_of(paste, setting)):
            listed.append((setting, devices))
    return listed


def _list_of(paste: Paste, setting: Setting) -> str:
    """What a setting lists of devices; "" where it lists none. Of several hosts no list is that of one machine."""
    key = normal(setting.key)
    if key in VISIBLE:
        return written.bare(setting.value)
    words = paste.commands[setting.command].words if setting.command >= 0 else ()
    if key == _IDS and words[:1] == ("accelerate",):
        return written.bare(setting.value)
    if key == _INCLUDED and words[:1] == ("deepspeed",) and "@" not in setting.value:
        return written.bare(setting.value).partition(":")[2]
    return ""


def devices_of(listed: str) -> frozenset[str]:
    """The devices of a list, “0,1” or “4-7”; what is no device ends it, as it does for CUDA."""
    devices: set[str] = set()
    for part in (part.strip(" '\"") for part in listed.strip("[] ").split(",")):
        if (found := _DEVICE.fullmatch(part)) is None:
            break
        first, last = found["first"], found["last"]
        devices |= {str(number) for number in range(int(first), int(last) + 1)} if last else {part}
    return frozenset(devices)


def _last(paste: Paste, keys: tuple[str, ...]) -> tuple[Setting, int] | None:
    """What the launcher was told last: by its command, which outranks a file that it is given."""
    told = [
        (setting, value)
        for setting in paste.settings
        if normal(setting.key) in keys
        and isinstance(value := written.number(setting.value), int)
        and 1 <= value <= 4096
        and not _of_an_actor(paste, setting)
    ]
    by_command = [one for one in told if one[0].command >= 0]
    return next(reversed(by_command or told), None)


def _of_an_actor(paste: Paste, setting: Setting) -> bool:
    """Whether the value is what a cluster gives one actor: “@ray.remote(num_gpus=1)”."""
    line = paste.line(setting.span.line) if setting.shape == "python" else None
    return line is not None and bool(_OF_AN_ACTOR.search(line.text[: setting.span.start]))


def _read(id: str, value: Value, setting: Setting) -> Fact:
    return Fact(id, value, "read", "", setting.key, setting.value, setting.span)
