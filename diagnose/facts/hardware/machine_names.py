"""Machines by the names that clouds and makers give them: “2 x p4d.24xlarge”, “Standard_ND96asr_v4”, “a DGX H100”."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from diagnose.facts.hardware.cards import aside, tight
from diagnose.facts.hardware.printed_card import can_be
from diagnose.facts.sentences.lowered import Lowered
from diagnose.facts.sentences.prose import NUMERAL, numeral, span_of
from diagnose.knowledge.hardware import Gpu, Machine
from diagnose.types import Fact, Line, Paste, Span
from diagnose.vocabulary import Value

_OF = r"(?:(?:AWS|EC2|SageMaker|GCP|Azure|NVIDIA|Huawei|instances?|nodes?|machines?|of|台|个|x|×|\*)\s*){0,4}"
# a count before such a word is one of cards
_CARDS = re.compile(r"\s*(?:GPUs?|cards?|张|块|卡)(?![A-Za-z])", re.I | re.A)


@dataclass(frozen=True, slots=True)
class Named:
    """A machine that the text names, and how many of them where it says so."""

    title: str
    slug: str
    machine: Machine
    nodes: int | None
    span: Span
    aside: bool


@lru_cache(maxsize=4)
def _forms(
    gpus: tuple[tuple[str, Gpu], ...],
) -> tuple[dict[str, tuple[str, str, Machine]], frozenset[str], re.Pattern[str]]:
    """Every name in lower case and tight → how it is written, card and machine; the longest words; a pattern for any name."""
    known = {tight(name.lower()): (name, slug, machine) for slug, gpu in gpus for name, machine in gpu.machines.items()}
    names = sorted((name for name, _, _ in known.values()), key=len, reverse=True)
    one = "|".join(re.sub(r"\\ ", r"[-\\s]?", re.escape(name)) for name in names)
    words = frozenset(max(re.findall(r"[a-z]+", name.lower()), key=len, default=name) for name in names)
    form = re.compile(
        rf"(?:(?<![A-Za-z0-9_.=-])(?P<count>{NUMERAL}|an?(?=\s))[\s-]*{_OF})?(?<![A-Za-z0-9_-])(?P<name>{one or '(?!)'})(?![A-Za-z0-9_])"
        r"(?:\s*[x×*]\s*(?P<times>\d{1,3})(?![\w.]))?",
        re.I | re.A,
    )
    return known, words, form


def _all(paste: Paste, lowered: Lowered, gpus: Mapping[str, Gpu]) -> Iterator[Named]:
    known, words, form = _forms(tuple(gpus.items()))
    for i in lowered.holding(words):
        line = paste.lines[i]
        for found in form.finditer(line.words):
            title, slug, machine = known[tight(found["name"].lower())]
            yield Named(title, slug, machine, _count(line, found), span_of(line, found), aside(line.words, found))


def _count(line: Line, found: re.Match[str]) -> int | None:
    word = found["times"] or found["count"]
    return None if word is None or _CARDS.match(line.words[found.end() :]) else numeral(word)


def with_named(
    found: Mapping[str, Fact],
    stated: Mapping[str, Fact],
    paste: Paste,
    lowered: Lowered,
    gpus: Mapping[str, Gpu],
    printed: Fact | None,
) -> dict[str, Fact]:
    """What the only machine that the text names adds; cards, sizes and counts that are told outright outrank it.

    ``printed``: what a card holds by a message.
    """
    named = list(_all(paste, lowered, gpus))
    named = [one for one in named if not one.aside] or named
    if len({one.title for one in named}) != 1:
        return dict(found)
    one = next((one for one in named if one.nodes), named[0])
    both, gpu = {**found, **stated}, gpus[one.slug]
    if not can_be(gpu, printed):
        return dict(found)
    told = both.get("gpu_model")
    if told is not None and not str(told.value).startswith(gpu.title):
        return dict(found)  # another card than the machine has
    more = _counted(one, both)
    if told is None:
        more["gpu_model"] = _read("gpu_model", gpu.title, one)
    if one.machine.size and not printed and (told is None or told.value == gpu.title):
        more["gpu_mem_gib"] = _read("gpu_mem_gib", one.machine.size, one)
    spoken = found.get("n_gpus")
    if (
        one.nodes
        and one.nodes > 1
        and spoken
        and spoken.value == one.machine.cards
        and spoken.written == str(spoken.value)
    ):
        found = {id: fact for id, fact in found.items() if id != "n_gpus"}  # the count in words is that of each
    return {**more, **found}


def _counted(one: Named, both: Mapping[str, Fact]) -> dict[str, Fact]:
    """Nodes and cards; of a name without a count there is one machine, unless nodes are told."""
    cards, nodes, told = one.machine.cards, both.get("n_nodes"), both.get("n_gpus")
    facts = {"n_nodes": _read("n_nodes", one.nodes, one)} if one.nodes else {}
    if "gpus_per_node" in both:
        return facts  # a run on a part of each
    count = nodes.value if nodes is not None and isinstance(nodes.value, int) else one.nodes
    holds = f"{one.title} holds {cards}"
    if told is None or (isinstance(told.value, int) and told.value % cards == 0):
        facts["gpus_per_node"] = replace(_read("gpus_per_node", cards, one), origin="derived", why=holds)
    whole = _read("n_gpus", cards * (count or 1), one)
    if count:
        facts["n_gpus"] = replace(whole, origin="derived", why=holds)
    else:
        facts["n_gpus"] = replace(whole, origin="assumed", why=f"{holds}, and nothing tells of more than one")
    return facts


def _read(id: str, value: Value, one: Named) -> Fact:
    return Fact(id, value, "read", written=one.title, span=one.span)
