"""How many cards a run has, by keys, launchers, tables and words, where several of them tell a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from diagnose.facts.hardware import cards
from diagnose.facts.hardware.cards import Mention
from diagnose.facts.hardware.launcher import OF_PROCESSES, VISIBLE, devices_of
from diagnose.facts.hardware.left_cards import left
from diagnose.facts.roles.shared_out import shared_out
from diagnose.facts.roles.told_roles import told_roles
from diagnose.facts.roles.told_trainers import numbered_cards
from diagnose.facts.settings.spelling import normal
from diagnose.types import Fact, Line

# the heads of npu-smi's two parts, as Ascend's npu-smi info prints them
_NPU_TABLE, _NPU_PROCESSES = "HBM-Usage", "Process id"


def put_count(found: dict[str, Fact], stated: Mapping[str, Fact], said: list[Mention]) -> None:
    """How many cards: never the same ones twice. Keys and launchers first, then a table, then the first count in words.

    A list of cards that leaves out the first ones is a part of the run's where an engine serves it from others: then the words tell
    how many there are.
    """
    both = {**found, **stated}
    per_node, nodes = both.get("gpus_per_node"), both.get("n_nodes")
    if per_node is not None:  # of which what a machine holds is the whole
        said = [one for one in said if not one.of_machine]
        if nodes is None:  # more of the text had more, before or besides
            said = [one for one in said if one.count == per_node.value and not one.per_node] or said
    spoken = _spoken_count(said, nodes)
    if spoken is None:
        return
    told = both.get("n_gpus")
    if told is not None and _served(both) and (_left_out(told, int(spoken.value)) or _started(told, int(spoken.value))):
        trains = "trains" not in both or both["trains"].value is True
        if trains and "trainer_gpus" not in both:
            found["trainer_gpus"] = replace(told, id="trainer_gpus")
        found.pop("gpus_per_node", None)
        found[spoken.id] = spoken
    elif told is None and not (per_node and nodes):
        found[spoken.id] = spoken


def put_roles(found: dict[str, Fact], stated: Mapping[str, Fact], speech: Sequence[Line], said: list[Mention]) -> None:
    """The cards of each role: shared out of as many as the text counts, else as many as are counted of the roles, or left of more."""
    counted = dict(found)
    put_count(counted, stated, said)
    told = {**found, **stated}.get("n_gpus")
    _put(found, shared_out(speech, {**counted, **stated}), stated)
    roles = {} if "trainer_gpus" in found else told_roles(speech)
    if same_cards(roles, said, {**found, **stated}):
        roles = {}
    if roles and (told is None or told.value == roles["n_gpus"].value):
        _put(found, roles, stated)
    if told is None and "n_gpus" not in found and "trainer_gpus" not in found:
        _put(found, left(speech, "n_gpus"), stated)
    _put(found, numbered_cards(speech, {**found, **stated}), stated)


def _put(found: dict[str, Fact], more: Mapping[str, Fact], stated: Mapping[str, Fact]) -> None:
    for id, fact in more.items():
        if id not in stated:
            found.setdefault(id, fact)


def same_cards(roles: Mapping[str, Fact], said: Sequence[Mention], known: Mapping[str, Fact]) -> bool:
    """Whether as many as each of two roles has are all: “8xA100, train on 8 gpus and rollout on 8 gpus”."""
    train, nodes = roles.get("trainer_gpus"), known.get("n_nodes")
    if train is None or roles["n_gpus"].value != 2 * int(train.value) or (nodes is not None and nodes.value != 1):
        return False
    named = {one.count for one in said if one.gpu}
    return train.value in named and roles["n_gpus"].value not in named


def without_cut(table: dict[str, Fact], said: list[Mention], lines: Sequence[Line]) -> dict[str, Fact]:
    """The facts of a table without its number of cards, where only some rows of it are pasted, with no frame, and the words count more."""
    framed = any(line.words.startswith(("+-", "╘", "└")) for line in lines) and not _cut_between(lines)
    listed = table.get("n_gpus")
    counts = {one.count for one in _counted(said) if not one.aside}
    if framed or listed is None or len(counts) != 1 or max(one or 0 for one in counts) <= int(listed.value):
        return table
    return _without_count(table)


def beside_keys(table: dict[str, Fact], stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """The facts of a table without its number of cards, where keys tell those of the run, or that a node of it has more."""
    listed, each, nodes = table.get("n_gpus"), stated.get("gpus_per_node"), stated.get("n_nodes")
    if listed is None or each is None or not each.certain:
        return table
    all_told = nodes is not None and nodes.certain
    return table if not all_told and float(each.value) <= float(listed.value) else _without_count(table)


def _without_count(table: dict[str, Fact]) -> dict[str, Fact]:
    return {id: fact for id, fact in table.items() if id != "n_gpus"}


def _cut_between(lines: Sequence[Line]) -> bool:
    """Whether a table of ``npu-smi`` lacks its last part: the same frame is behind every card, and processes behind them all."""
    return any(_NPU_TABLE in line.words for line in lines) and not any(_NPU_PROCESSES in line.words for line in lines)


def _served(known: Mapping[str, Fact]) -> bool:
    """Whether an engine of its own serves the run, or the command starts nothing else; also where a key tells the cards that train."""
    mode, trains, trainers = known.get("rollout_mode"), known.get("trains"), known.get("trainer_gpus")
    if trainers is not None and normal(trainers.key) in OF_PROCESSES:
        return True
    return (mode is not None and mode.value == "server") or (trains is not None and trains.value is False)


def _left_out(listed: Fact, count: int) -> bool:
    """Whether a list of devices leaves some of so many cards out."""
    devices = [int(device) for device in devices_of(listed.written) if device.isdigit()]
    return normal(listed.key) in VISIBLE and bool(devices) and len(devices) < count and max(devices) < count


def _started(told: Fact, count: int) -> bool:
    """Whether a launcher starts fewer processes than there are so many cards."""
    return normal(told.key) in OF_PROCESSES and int(told.value) < count


def _counted(said: Sequence[Mention]) -> list[Mention]:
    """The mentions that count cards: those that name the card, else all."""
    return [one for one in said if one.count and one.gpu] or [one for one in said if one.count]


def _spoken_count(said: list[Mention], nodes: Fact | None) -> Fact | None:
    counted = _counted(said)
    if not counted:
        return None
    first, count = counted[0], counted[0].count or 0
    if first.per_node and nodes is None:
        if all_of := cards.all_nodes(said, count):
            return all_of
        if first.size is None:  # “80G each” is said of the cards
            return Fact("gpus_per_node", count, "read", written=str(count), span=first.span)
    whole = count * nodes.value if nodes and isinstance(nodes.value, int) else count
    if whole > count and any(mention.count == whole for mention in said):
        return Fact("n_gpus", whole, "read", written=str(whole), span=first.span, why="of all nodes")
    if first.per_node and nodes and isinstance(nodes.value, int) and nodes.value > 1:
        return Fact("n_gpus", count * nodes.value, "read", written=str(count), span=first.span, why="per node")
    return Fact("n_gpus", count, "read", written=str(count), span=first.span)
