"""The machine: cards, their memory and number, nodes, host RAM. What a command says outranks what the words say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from diagnose.batch import whole
from diagnose.facts.hardware import cards
from diagnose.facts.hardware.allocation import read_allocation
from diagnose.facts.hardware.alone import one_asked_about, one_card, one_of_a_pc
from diagnose.facts.hardware.card_patterns import PART_OF
from diagnose.facts.hardware.card_sizes import sold_size
from diagnose.facts.hardware.cards import Mention
from diagnose.facts.hardware.counts import beside_keys, put_count, put_roles, without_cut
from diagnose.facts.hardware.launcher import launched, on_nodes, one_launched, spoken_processes, with_lists
from diagnose.facts.hardware.left_cards import left
from diagnose.facts.hardware.machine_names import with_named
from diagnose.facts.hardware.memory_words import host_ram, of_node, ram_by_cards
from diagnose.facts.hardware.printed_card import known, possible
from diagnose.facts.hardware.shared_memory import shared_memory
from diagnose.facts.hardware.strange_cards import maker, mentions, one_memory
from diagnose.facts.hardware.tables import TABLE, with_tables
from diagnose.facts.hardware.used_of import used_of_card
from diagnose.facts.roles.mapped import mapped_cards
from diagnose.facts.roles.roles import (
    allocated_cards,
    cluster_cards,
    learner_cards,
    pool_cards,
    rented_cards,
    role_cards,
)
from diagnose.facts.roles.told_trainers import parted_nodes, told_trainers
from diagnose.facts.sentences.lowered import Lowered
from diagnose.facts.sentences.prose import span_of
from diagnose.facts.settings.banner import processes, ranks
from diagnose.knowledge import Knowledge
from diagnose.knowledge.hardware import Gpu
from diagnose.types import Fact, Line, Paste, Span
from diagnose.units import GIB, MIB
from diagnose.vocabulary import FACTS, Value

MACHINE = tuple(id for id, spec in FACTS.items() if spec.group == "machine")
_ROW = re.compile(
    r"(?:^\s*\|?\s*|\bGPU\s*|^\s*Device (?=\d+ \[))(?P<index>\d{1,2})\s*(?:[:|\t]|\s+\[?(?=NVIDIA|Tesla|GeForce|AMD|Type)|\s{2,})",
    re.A,
)
_MIB = re.compile(r"\d+\s*Mi?B\s*/\s*(?P<mib>\d{4,6})\s*Mi?B", re.A)
_COUNT_LINE = re.compile(
    r"\b(?:GPU[ _]?Count|GPU number|Num GPUs(?: used)?|Number of GPUs|nGPUs|CUDA device\(s\))[\"']?(?:\s*[:=]\s*|\s{2,8}|\t)"
    r"(?P<count>\d{1,4})\b",
    re.I | re.A,
)
_SIZE_LINE = re.compile(r"(?:\bGPU \d*\s*memory|\bMax memory)\s*[:=]\s*(?P<size>\d{1,3}\.\d+)\s*Gi?B", re.I | re.A)
# in lower case; every row that tells a size or a count holds one
_OF_A_TABLE = ("gpu", "cuda", "memory", "mib", "mb")
_MOST_ON_ONE = 16
_USUAL_ON_ONE = 8  # cards of a machine of more than one: NVIDIA HGX and DGX, Ascend Atlas 800T


def read_machine(
    paste: Paste,
    lowered: Lowered,
    speech: Sequence[Line],
    stated: Mapping[str, Fact],
    captured: Mapping[str, Fact],
    knowledge: Knowledge,
) -> dict[str, Fact]:
    """All facts of the machine: those that ``stated`` (answers and keys) holds and what the text adds."""
    found, stated = spoken_processes(stated)
    said, printed = mentions(speech, knowledge.gpus), captured.get("gpu_total_gib")
    table = beside_keys(with_tables(_table(paste, lowered, said, knowledge.gpus), paste, knowledge.gpus), stated)
    said, table = possible(said, printed, knowledge.gpus), known(table, printed, knowledge.gpus)
    roles = {id: fact for id, fact in _by_role(paste, stated).items() if not _answered(stated, id)}
    if roles:
        # the keys give one role's nodes and cards, not those of the run
        stated = {
            id: fact
            for id, fact in stated.items()
            if id not in ("n_nodes", "gpus_per_node") or fact.origin == "answered"
        }
        _put(found, roles)
    given = read_allocation(paste)
    found = on_nodes(with_lists(found, launched(paste, stated)), given)
    _put(found, given | allocated_cards({**found, **stated}, paste))
    _put(found, {**shared_memory(paste, speech), **table})
    _spoken(found, stated, speech, said, knowledge.gpus)
    if not {"gpu_mem_gib", "gpu_model"} & {**found, **stated}.keys():
        _put(found, used_of_card(speech, knowledge.gpus))
    if "n_gpus" not in {**found, **stated}:
        _put(found, ranks(paste.lines) or processes(paste.lines))
    if not {"n_gpus", "gpus_per_node"} & {**found, **stated}.keys():
        _put(found, one_of_a_pc(paste.lines, lowered) or one_asked_about(paste.lines, said, stated))
    found = with_named(found, stated, paste, lowered, knowledge.gpus, printed)
    if (node := captured.get("node_total_gb")) is not None:
        found["host_ram_gb"] = of_node(node, found.get("host_ram_gb"))
    _sizes({**found, **stated}, found, captured, knowledge.gpus)
    _put(found, one_launched(paste, {**found, **stated}) or _usual_nodes({**found, **stated}))
    _put(found, maker({**found, **stated}, knowledge.gpus))
    return _agreeing({**found, **{id: fact for id, fact in stated.items() if id in MACHINE}})


_COUNTS = ("n_gpus", "n_nodes", "gpus_per_node")


def _agreeing(machine: dict[str, Fact]) -> dict[str, Fact]:
    """Without the cards of a node, and then the nodes, that an answered number of cards contradicts."""
    cards = machine.get("n_gpus")
    if cards is None or cards.origin != "answered":
        return machine
    for id in ("gpus_per_node", "n_nodes"):
        numbers: dict[str, Value] = {one: fact.value for one, fact in machine.items() if one in _COUNTS}
        if not _divides(numbers) and id in machine and machine[id].origin != "answered":
            machine = {one: fact for one, fact in machine.items() if one != id}
    return machine


def _divides(numbers: Mapping[str, Value]) -> bool:
    """Whether so many cards can stand on so many nodes of so many each, as far as these are known."""
    cards, nodes, each = (whole(numbers, id) for id in ("n_gpus", "n_nodes", "gpus_per_node"))
    if not cards or not (nodes or each):
        return True
    return cards == nodes * each if nodes and each else cards % (nodes or each or 1) == 0


def _by_role(paste: Paste, stated: Mapping[str, Fact]) -> dict[str, Fact]:
    by_role = rented_cards(paste) or role_cards(paste, stated) or pool_cards(paste) or cluster_cards(paste)
    return by_role or learner_cards(paste) or mapped_cards(paste)


def _spoken(
    found: dict[str, Fact],
    stated: Mapping[str, Fact],
    speech: Sequence[Line],
    said: list[Mention],
    gpus: Mapping[str, Gpu],
) -> None:
    """What the words add. Of machines that are named side by side no count and no size is the run's."""
    said = [mention for mention in said if not mention.aside] or said
    several = len({mention.gpu for mention in said if mention.gpu}) > 1 and "gpu_model" not in found
    _put(found, _words(said, gpus))
    _put(found, {} if "gpu_model" in {**found, **stated} else one_memory(speech, gpus))
    nodes = left(speech, "n_nodes") or cards.nodes(speech, said)
    found.update(nodes if _of_one_role(found, stated) else {})
    _put(found, nodes)
    parted = several or any(PART_OF.search(line.words) for line in speech)
    if not several:
        put_roles(found, stated, speech, [] if parted else said)
    put_count(found, stated, [] if parted else said)
    for read in () if several else (told_trainers, parted_nodes):
        _put(found, read(speech, {**found, **stated}))
    if not several and not {"n_gpus", "gpus_per_node"} & {**found, **stated}.keys():
        _put(found, one_card(speech))
    if "n_nodes" not in {**found, **stated}:
        _put(found, _one_node(found, stated))
    ram = None if several else host_ram(speech, _many(found, stated), stated.get("oom_kind")) or ram_by_cards(said)
    if ram is not None:  # a limit that words tell may be below what a tool prints of the machine
        found["host_ram_gb"] = min(found.get("host_ram_gb", ram), ram, key=lambda fact: float(fact.value))


def _of_one_role(found: Mapping[str, Fact], stated: Mapping[str, Fact]) -> bool:
    """Whether a launcher's default of one machine is that of the trainers alone, beside an engine that is served elsewhere."""
    mode, nodes = stated.get("rollout_mode"), found.get("n_nodes")
    one = nodes is not None and nodes.origin == "derived" and nodes.value == 1
    return one and mode is not None and mode.value == "server"


def _answered(stated: Mapping[str, Fact], id: str) -> bool:
    return id in stated and stated[id].origin == "answered"


def _put(found: dict[str, Fact], more: Mapping[str, Fact]) -> None:
    for id, fact in more.items():
        found.setdefault(id, fact)


def _table(paste: Paste, lowered: Lowered, said: list[Mention], gpus: Mapping[str, Gpu]) -> dict[str, Fact]:
    """nvidia-smi, its -L form and environment reports: one row a card, the capacity in MiB, a count."""
    rows: dict[str, tuple[str, Span]] = {}
    found: dict[str, Fact] = {}
    for mention in said:
        line = paste.line(mention.span.line)
        if line and mention.gpu and (row := _ROW.search(line.words) or _COUNT_LINE.search(line.words)):
            rows.setdefault(row.groupdict().get("index", "all"), (mention.gpu, mention.span))
    for i in lowered.holding(_OF_A_TABLE):
        line = paste.lines[i]
        if (size := _SIZE_LINE.search(line.words)) and "gpu_mem_gib" not in found:
            found["gpu_mem_gib"] = Fact(
                "gpu_mem_gib", float(size["size"]), "read", written=size[0], span=span_of(line, size)
            )
        if (size := _MIB.search(line.words)) and "gpu_mem_gib" not in found:
            gib = int(size["mib"]) * MIB / GIB
            found["gpu_mem_gib"] = Fact("gpu_mem_gib", gib, "read", written=size[0], span=span_of(line, size))
        if count := _COUNT_LINE.search(line.words):
            cards = Fact("n_gpus", int(count["count"]), "read", written=count[0], span=span_of(line, count), why=TABLE)
            found.setdefault("n_gpus", cards)
    models = {gpu for gpu, _ in rows.values()}
    if len(models) == 1:
        gpu, place = next(iter(rows.values()))
        found["gpu_model"] = Fact("gpu_model", gpus[gpu].title, "read", span=place)
    if len(rows) > 1:
        first = next(iter(rows.values()))[1]
        found.setdefault("n_gpus", Fact("n_gpus", len(rows), "read", span=first, why=TABLE))
    return without_cut(found, said, paste.lines)


def _words(said: list[Mention], gpus: Mapping[str, Gpu]) -> dict[str, Fact]:
    """The card if only one is named, and its size if all mentions agree."""
    facts: dict[str, Fact] = {}
    named = [mention for mention in said if mention.gpu]
    if len({mention.gpu for mention in named}) > 1:
        return facts
    if named:
        best = named[0]
        facts["gpu_model"] = Fact("gpu_model", gpus[best.gpu].title, "read", span=best.span)
    sized = [mention for mention in said if mention.size]
    if len({mention.size for mention in sized}) == 1:
        size = sized[0].size or 0.0
        facts["gpu_mem_gib"] = Fact("gpu_mem_gib", int(size), "read", written=f"{size:g} GB", span=sized[0].span)
    return facts


def _one_node(found: Mapping[str, Fact], stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """One machine where the cards of the run say so."""
    both = {**found, **stated}
    gpus, per_node = both.get("n_gpus"), both.get("gpus_per_node")
    if gpus is None:
        return {}
    if gpus.value == 1:
        why = "one card"
    elif per_node and per_node.value == gpus.value:
        why = "all cards are on one node"
    else:
        why = "the table lists the cards of one machine" if gpus.why == TABLE else ""
    return {"n_nodes": Fact("n_nodes", 1, "derived", why=why)} if why else {}


def _usual_nodes(known: Mapping[str, Fact]) -> dict[str, Fact]:
    """Eight cards a node, where more than a node's worth are said and nothing tells how they are spread."""
    gpus = known.get("n_gpus")
    if gpus is None or not isinstance(gpus.value, int) or {"n_nodes", "gpus_per_node"} & known.keys():
        return {}
    if gpus.value <= _USUAL_ON_ONE or gpus.value % _USUAL_ON_ONE:
        return {}
    why = "nodes of so many cards nearly always hold eight each"
    return {"gpus_per_node": Fact("gpus_per_node", _USUAL_ON_ONE, "assumed", why=why)}


def _many(found: Mapping[str, Fact], stated: Mapping[str, Fact]) -> bool:
    """Whether the run has more cards than a machine holds: then a size of RAM may be that of all machines together."""
    gpus = {**found, **stated}.get("n_gpus")
    return gpus is not None and isinstance(gpus.value, int) and gpus.value > _MOST_ON_ONE


# --- sizes as sold


def _sizes(
    known: Mapping[str, Fact], found: dict[str, Fact], captured: Mapping[str, Fact], gpus: Mapping[str, Gpu]
) -> None:
    """The size as sold: a stated one in the catalogue's figure, a printed capacity, or the only or usual one of the card."""
    gpu = gpu_of(known, gpus)
    size = known.get("gpu_mem_gib")
    if size is not None and not size.certain:
        return
    if size is not None:
        if "gpu_mem_gib" in found:
            sold = sold_size(float(size.value), gpu, gpus)
            if sold:
                found["gpu_mem_gib"] = Fact("gpu_mem_gib", sold, "read", written=size.written, span=size.span)
        return
    printed = captured.get("gpu_total_gib")
    if printed is not None and (sold := sold_size(float(printed.value), gpu, gpus)):
        found["gpu_mem_gib"] = Fact(
            "gpu_mem_gib", sold, "derived", written=printed.written, span=printed.span, why="the capacity as printed"
        )
    elif gpu is not None and gpu.only_size:
        only = int(gpu.only_size) if gpu.only_size.is_integer() else gpu.only_size
        found["gpu_mem_gib"] = Fact("gpu_mem_gib", only, "derived", why=f"{gpu.title} is sold in one size")
    elif gpu is not None and gpu.usual:
        why = f"{gpu.title} without a size nearly always means this one"
        found["gpu_mem_gib"] = Fact("gpu_mem_gib", gpu.usual, "assumed", why=why)


def gpu_of(known: Mapping[str, Fact], gpus: Mapping[str, Gpu]) -> Gpu | None:
    """The record of the card that is named, if one is."""
    model = known.get("gpu_model")
    return find_gpu(str(model.value), gpus) if model else None


def find_gpu(name: str, gpus: Mapping[str, Gpu]) -> Gpu | None:
    """The record of a card by any of its names; a size behind the name does not matter."""
    known = cards.names(gpus).packed
    packed = cards.tight(name.lower())
    inside = [word for word in known if word in packed]
    slug = known.get(packed) or (known[max(inside, key=len)] if inside else None)
    return gpus[slug] if slug else None
