"""GPUs in words: “8 x H100 80GB”, “4*90G 的卡”, “八卡 H20”, “two A100-40GB”, “4 nodes x 8 GPUs (80G each)”."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from diagnose.facts.failing.advised import without_advice
from diagnose.facts.failing.said import FAILURE
from diagnose.facts.hardware.card_patterns import (
    BESIDE,
    CALLED_BEFORE,
    CALLED_BEHIND,
    CARD_WORD,
    COUNTED_BY,
    DENIED,
    EACH,
    EACH_AFTER,
    IN_ALL,
    LANDS,
    MACHINE_HOLDS,
    MACHINE_WORD,
    MACHINES,
    MACHINES_BEFORE,
    NEEDED,
    NODES,
    NODES_BEFORE,
    NODES_BEHIND,
    OF_EACH,
    OF_MACHINES,
    OF_THE,
    ONE_NODE,
    ONE_OF_SEVERAL,
    PART_OF,
    RANKS_BEFORE,
    RANKS_BEHIND,
    SPLIT,
    TRIED,
    UNNAMED,
    WENT_WELL,
    WHERE_IT_RUNS,
    named,
)
from diagnose.facts.hardware.card_sizes import behind_title, of_machine, of_no_card, told_size
from diagnose.facts.hardware.rest_of_cards import with_the_rest
from diagnose.facts.sentences.prose import asked, clause_of, numeral, span_of
from diagnose.facts.whose_run.contrasted import card_taken_back, set_against
from diagnose.facts.whose_run.others import of_another_run, supposed
from diagnose.knowledge.hardware import Gpu
from diagnose.types import Fact, Line, Span

_ON_ONE = 8
_ENOUGH = re.compile(r"\b(?:enough|suffic\w+)\b|够", re.I | re.A)
_RAN = re.compile(
    r"\s*(?:上|就|都|也|时|的时候){0,2}\s*(?:(?:能跑|没问题|可以跑?|正常|没事)(?!吗)|(?:works?|worked|(?:is|are|was|runs?|ran)? ?fine)\b)",
    re.I | re.A,
)
_LETTER = re.compile(r"[a-z]\d", re.A)


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention of cards: what it says, and where. ``count`` is of the whole run unless ``per_node``.

    ``ram``: GB of the machine, told right behind its cards.
    ``aside``: where all went well, or what was tried besides. ``of_machine``: it tells what a machine holds, of which a run may use a part.
    """

    span: Span
    gpu: str = ""
    count: int | None = None
    size: float | None = None
    ram: float | None = None
    per_node: bool = False
    nodes: int | None = None
    aside: bool = False
    of_machine: bool = False


@dataclass(frozen=True, slots=True)
class Names:
    """Every name of every card → slug. ``packed`` are the names tight, those of machines among them.

    ``known`` holds, in lower case, names that are a number as well (3090, 2080 ti), which count only behind a count; ``tight`` is the
    same tight, ``words`` what they consist of, ``forms`` the patterns of all, ``sizes`` the GB that cards are sold with.
    """

    packed: Mapping[str, str]
    known: Mapping[str, str]
    tight: Mapping[str, str]
    words: frozenset[str]
    forms: tuple[re.Pattern[str], ...]
    sizes: frozenset[float]


def names(gpus: Mapping[str, Gpu]) -> Names:
    return _names(tuple(gpus.items()))


@lru_cache(maxsize=4)
def _names(gpus: tuple[tuple[str, Gpu], ...]) -> Names:
    long = {name.lower(): slug for slug, gpu in gpus for name in (gpu.title, *gpu.aliases)}
    behind = {gpu.title.partition(" ")[2].lower(): slug for slug, gpu in gpus}
    short = {name: slug for name, slug in behind.items() if re.fullmatch(r"\d{4}(?: ti)?", name)}
    known = {**short, **long}
    return Names(
        {tight(name.lower()): slug for slug, gpu in gpus for name in (gpu.title, *gpu.aliases, *gpu.machines)},
        known,
        {tight(name): slug for name, slug in known.items()},
        frozenset(word for name in long for word in name.split()),
        named(tuple(sorted(long)), tuple(sorted(short))) if known else (),
        frozenset(float(size) for _, gpu in gpus for size in gpu.sizes),
    )


def mentions(speech: Sequence[Line], gpus: Mapping[str, Gpu]) -> Iterator[Mention]:
    """Every mention of cards in the order of the text; named ones only where any is named."""
    known = names(gpus)
    whole = tight("".join(line.words for line in speech).lower())
    there = [name for name in known.tight if name in whole]
    for line in speech:
        taken: list[tuple[int, int]] = []
        words = line.words.lower()
        unnamed = UNNAMED if CARD_WORD.search(words) else ()
        words = tight(words) if there else ""
        for pattern in (*known.forms, *UNNAMED) if any(name in words for name in there) else unnamed:
            for found in pattern.finditer(line.words):
                if any(found.start() < end and start < found.end() for start, end in taken):
                    continue
                taken.append(found.span())
                if _LETTER.fullmatch(found.groupdict().get("card") or "") and not _told_a_card(found, line.words):
                    continue
                if pattern in UNNAMED and (SPLIT.search(line.words) or _no_count(found, line.words, known)):
                    continue
                if of_another_run(line.words, found.start()) or _only_supposed(line.words, found.start(), speech):
                    continue
                yield _without_ram(_mention(found, known, span_of(line, found), line.words), gpus)


def _without_ram(mention: Mention, gpus: Mapping[str, Gpu]) -> Mention:
    """The mention with the machine's RAM apart from what its cards have."""
    if not mention.gpu or not of_machine(mention.size, gpus[mention.gpu].sizes, mention.count):
        return mention
    return replace(mention, size=None, ram=mention.size)


def _only_supposed(words: str, at: int, speech: Sequence[Line]) -> bool:
    """Whether more cards are asked about where the words tell a failure; whether they are enough is asked of the run's own."""
    if not supposed(words, at) or _ENOUGH.search(words):
        return False
    return any(FAILURE.search(without_advice(line.words)) for line in speech)


def _told_a_card(found: re.Match[str], words: str) -> bool:
    """Whether a letter and a digit in lower case, a parallel size as well, stand by a count or a size or are called a card."""
    groups = found.groupdict()
    before, behind = words[max(0, found.start() - 24) : found.start()], words[found.end() : found.end() + 24]
    if RANKS_BEFORE.search(before) or RANKS_BEHIND.match(behind):
        return False
    said = any(groups.get(name) for name in ("count", "times", "size", "size0", "size1"))
    listed = re.search(r"(?:^|[,，;；(（])\s*$", before) and re.match(r"\s*(?:$|[,，;；)）.。])", behind)
    return bool(said or listed or CALLED_BEFORE.search(before) or CALLED_BEHIND.match(behind))


def _mention(found: re.Match[str], known: Names, span: Span, words: str) -> Mention:
    groups = found.groupdict()
    word = groups.get("count") or groups.get("times")
    article = word and word.lower() in ("a", "an") and MACHINE_WORD.match(words[found.end() :])
    if article or PART_OF.search(words) or LANDS.search(words[: found.start()]):
        word = None
    machines = groups.get("nodes") or groups.get("machines")
    if (
        word
        and groups.get("card")
        and groups.get("count")
        and not COUNTED_BY.match(found[0])
        and OF_MACHINES.match(words[found.end() :])
    ):
        machines, word = str(numeral(word)), ""
    card = re.sub(r"[-\s]+", " ", groups.get("card") or "").lower()
    slug = _slug(card, known)
    inside = behind_title(card, [name for name, of in known.tight.items() if of == slug])
    many = int(machines) if machines else None
    return Mention(
        aside=aside(words, found),
        nodes=many,
        span=span,
        gpu=slug,
        count=with_the_rest(words, found.end(), numeral(word) * (many or 1)) if word else None,
        size=told_size(groups, inside, words[: found.start()]),
        per_node=_per_node(words, found, numeral(word) if word else 0),
        of_machine=bool(MACHINE_WORD.match(words[found.end() :]) or MACHINE_HOLDS.search(words[: found.start()][-40:])),
    )


def _no_count(found: re.Match[str], words: str, known: Names) -> bool:
    """Whether the count is a card's name (“A6000 and 5090 GPUs”), or a size without a count is what something needs of each card."""
    groups = found.groupdict()
    if count := groups.get("count"):
        return count in known.known
    return bool(of_no_card(found, words, known.sizes) or NEEDED.search(words[: found.start()][-40:]))


def aside(words: str, found: re.Match[str]) -> bool:
    """Whether its clause says that all went well there, names it beside the machine that failed, or takes it back."""
    start, clause = clause_of(words, found)
    well = WENT_WELL.search(clause) and not (FAILURE.search(clause) or "吗" in clause) or _RAN.match(words, found.end())
    beside = BESIDE.search(words[max(start, found.start() - 32) : found.start()])
    return bool((well and not asked(words, start, clause)) or beside or card_taken_back(words, found.end()))


def _per_node(words: str, found: re.Match[str], count: int) -> bool:
    """Cards of each machine: so called, or no more than one holds and right behind the number of machines."""
    before, behind = words[: found.start()][-48:], words[found.end() :][:24]
    beside = NODES_BEFORE.search(before) or NODES_BEHIND.match(behind)
    if beside and 0 < count <= _ON_ONE and COUNTED_BY.match(found[0]) and not IN_ALL.match(behind):
        return True
    machines = MACHINES_BEFORE.search(before) or (COUNTED_BY.match(found[0]) and OF_EACH.match(words, found.end()))
    return bool(EACH.search(before) or EACH_AFTER.match(words[found.end() :]) or (machines and 0 < count <= _ON_ONE))


def _slug(card: str, known: Names) -> str:
    """The record of a name whose blanks may have been dashes or left out."""
    return known.known.get(card) or known.tight.get(card.replace(" ", ""), "")


def tight(words: str) -> str:
    """Without blanks and dashes, which names of cards are written with and without."""
    return "".join(words.split()).replace("-", "")


_NUMA = re.compile(
    r"\s*available: \d{1,3} nodes? \(|.{0,40}\bnuma\b", re.A
)  # of memory in one machine: numactl -H, lscpu


def nodes(speech: Sequence[Line], said: Iterable[Mention] = ()) -> dict[str, Fact]:
    """The number of machines that the text states, by itself or before the cards of each."""
    for mention in said:
        if mention.nodes:
            return _nodes(mention.nodes, mention.span)
    for line in speech:
        words = line.words.lower()
        if not any(word in words for word in MACHINES) or _NUMA.match(words):
            continue
        # 单机八卡，2 机: the “one” tells of what kind they are
        for count, place in sorted(
            ((_told(one), one) for one in NODES.finditer(line.words)), key=lambda one: one[0] == 1
        ):
            if _tried(line.words, place) or _of_several(line.words, place) or not 1 <= count <= 512:
                continue
            if (taken_back := DENIED.match(line.words, place.end())) is not None:
                count = int(taken_back["count"] or 0)
                return _nodes(count, span_of(line, taken_back)) if count else {}
            if not aside(line.words, place) or not _on_one(line.words):
                return _nodes(count, span_of(line, place))
        if (found := ONE_NODE.search(line.words)) and not _of_several(line.words, found):
            return _nodes(1, span_of(line, found))
    return {}


def _nodes(count: int, span: Span) -> dict[str, Fact]:
    return {"n_nodes": Fact("n_nodes", count, "read", span=span)}


def _told(place: re.Match[str]) -> int:
    return numeral(place["nodes"] or place["boxes"] or place["whole"] or place["all"])


def _on_one(words: str) -> bool:
    """Whether the words tell, beside several machines, of a failure on a single one: “two nodes work; on one node OOM”."""
    return any(FAILURE.search(clause_of(words, found)[1]) for found in ONE_NODE.finditer(words))


def _tried(words: str, place: re.Match[str]) -> bool:
    """Whether so many machines were tried besides, or are those of which some are used; where some failed, all are the run's."""
    before = words[max(0, place.start() - 24) : place.start()]
    some_failed = OF_THE.search(before) and FAILURE.search(clause_of(words, place)[1])
    return bool(TRIED.search(before) or set_against(words, *place.span())) and not some_failed


def _of_several(words: str, found: re.Match[str]) -> bool:
    """Whether something happened to “one node”, and nothing says that the run is on it alone; a single one is all there are."""
    happened = found[0].lower().startswith(("one", "一")) and ONE_OF_SEVERAL.match(words, found.end())
    return bool(happened) and not WHERE_IT_RUNS.search(words[max(0, found.start() - 12) : found.start()])


def all_nodes(said: Sequence[Mention], each: int) -> Fact | None:
    """The cards of all machines, where they are said beside those of each: “每个节点 8 卡 H100，共 32 卡”."""
    whole = next((one for one in said if one.count and one.count > each and one.count % each == 0), None)
    if whole is None or whole.count is None:
        return None
    return Fact("n_gpus", whole.count, "read", written=str(whole.count), span=whole.span, why="of all nodes")
