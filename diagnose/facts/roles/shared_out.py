"""Cards or machines that a sentence shares out: “half of them for rollout”, “两张推理，其余训练”, “GPUs 0-3 train, 4-7 serve vllm”.

A share stands beside what it is for, with nothing but a few words between them. The shares have to add up to what the run has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from diagnose.batch import whole
from diagnose.facts.hardware.launcher import OF_PROCESSES
from diagnose.facts.roles.share_forms import (
    ALONE,
    BETWEEN,
    DOUBT,
    EACH,
    EVENLY,
    OF_MEMORY,
    PURPOSE,
    SHARE,
    SPLITS,
    USES,
)
from diagnose.facts.roles.told_roles import TOGETHER
from diagnose.facts.sentences.prose import asked, clause_of, numeral, span_of
from diagnose.facts.settings.spelling import normal
from diagnose.facts.whose_run.others import of_others
from diagnose.types import Fact, Line
from diagnose.vocabulary import Value

_MOST = 600  # characters of a line
_OTHER_ONE = re.compile(r"\s*(?:the\s+)?other(?!s|\s+\d)\b|另一", re.I | re.A)  # one alone


@dataclass(frozen=True, slots=True)
class _Part:
    """A share of the cards, or of the machines: ``count`` of them, those of ``ids``, ``half``, or the ``rest``.

    ``bare``: a number without a word for what it counts. ``alone``: it is nothing else's.
    """

    use: str
    found: re.Match[str]
    count: int = 0
    half: bool = False
    rest: bool = False
    nodes: bool = False
    bare: bool = False
    alone: bool = False
    ids: frozenset[int] = frozenset()


def shared_out(speech: Sequence[Line], known: Mapping[str, Fact]) -> dict[str, Fact]:
    """The cards that train beside those of an engine, as a sentence shares them out; of numbered cards also how many there are."""
    mode, cards = known.get("rollout_mode"), known.get("n_gpus")
    if "trainer_gpus" in known or (mode is not None and mode.value != "server"):
        return {}
    if cards is not None and normal(cards.key) in OF_PROCESSES:
        return {}
    values = {id: fact.value for id, fact in known.items()}
    for line in speech:
        if len(line.words) > _MOST or TOGETHER.search(line.words):
            continue
        for parts in _readings(line.words):
            if any(one.half for one in parts) and OF_MEMORY.search(line.words):
                continue
            if any(_doubted(line.words, one.found) or of_others(line.words, one.found.start()) for one in parts):
                continue
            if told := _settled(parts, _with_sum(line.words, parts, values)):
                span, first = span_of(line, parts[0].found), parts[0].found[0].strip()
                return {
                    id: Fact(id, value, "read", written=first, span=span)
                    for id, value in told.items()
                    if id not in known or known[id].value != value
                }
    return {}


def _doubted(words: str, found: re.Match[str]) -> bool:
    """Whether the clause asks about the share, or says that it was tried or might be."""
    start, clause = clause_of(words, found)
    return asked(words, start, clause) or bool(DOUBT.search(clause))


def _with_sum(words: str, parts: Sequence[_Part], values: Mapping[str, Value]) -> Mapping[str, Value]:
    """With all cards, where nothing else tells them: the sum of the shares, if the line counts so many or names them cards."""
    total, taken = sum(one.count for one in parts), {one.found.span() for one in parts}
    # “4 for vllm, the other 4 train”: the first are not all
    beside = any(one.rest and values.get("n_gpus") == total - one.count for one in parts)
    if ("n_gpus" in values and not beside) or len(parts) < 2 or not all(one.count for one in parts):
        return values
    there = [one for one in SHARE.finditer(words) if one.span() not in taken and one["n"] and not one["nodes"]]
    told = any(numeral(one["n"]) == total for one in there) or not any(one.bare or one.nodes for one in parts)
    return {**values, "n_gpus": total} if told else values


def _settled(parts: Sequence[_Part], values: Mapping[str, Value]) -> dict[str, Value]:
    """Cards, those that train, and that the engine has its own; empty where the shares are not all of the run's, each once."""
    if len({one.use for one in parts}) < len(parts) or not {"train", "infer"} & {one.use for one in parts}:
        return {}
    cards, nodes = whole(values, "n_gpus"), whole(values, "n_nodes") or 1
    numbers = [number for one in parts for number in one.ids]
    if any(one.ids for one in parts):
        listed = sorted(numbers) == list(range(len(numbers))) and len(parts) > 1 and all(one.ids for one in parts)
        sure = cards == len(numbers) if cards else not all(one.bare for one in parts)
        if nodes > 1 or not listed or not sure:
            return {}
        cards = len(numbers)
    if not cards:
        return {}
    each = cards // nodes
    by_nodes = nodes > 1 and (all(one.nodes for one in parts) or _bare_nodes(parts, nodes))
    if any(one.nodes for one in parts) and not by_nodes:
        return {}
    if nodes > 1 and not by_nodes and any(one.bare for one in parts) and any(one.rest for one in parts):
        return {}  # one of the machines or of the cards
    train = _train(parts, nodes if by_nodes else cards, values, alone=by_nodes or nodes == 1)
    if train is None:
        return {}
    return {"n_gpus": cards, "trainer_gpus": train * (each if by_nodes else 1), "rollout_mode": "server"}


def _bare_nodes(parts: Sequence[_Part], nodes: int) -> bool:
    """Whether numbers without a word behind them count machines: “2 nodes: one trains, the other runs vllm”."""
    counts = [1 if one.rest and _OTHER_ONE.match(one.found[0]) else one.count if one.bare else 0 for one in parts]
    return len(parts) > 1 and all(counts) and sum(counts) == nodes


def _train(parts: Sequence[_Part], total: int, values: Mapping[str, Value], *, alone: bool) -> int | None:
    """How many of all train; of one share that is told the others do the rest where it is an engine's own."""
    counts = {one.use: one.count or len(one.ids) or (total // 2 if one.half and total % 2 == 0 else 0) for one in parts}
    rest = [one.use for one in parts if not counts[one.use]]
    served = values.get("rollout_mode") == "server"
    if len(parts) == 1 or not {"train", "infer"} <= counts.keys():
        if rest or not alone or not (served or ("infer" in counts and all(one.alone for one in parts))):
            return None
        rest = ["train"] if "train" not in counts else []
        counts.setdefault("train", 0)
    if len(rest) > 1:
        return None
    for use in rest:
        counts[use] = total - sum(counts.values())
    whole_told = sum(counts.values()) == total or (served and "infer" not in counts)
    return counts["train"] if whole_told and 0 < counts["train"] < total else None


def _readings(words: str) -> Iterator[list[_Part]]:
    """The shares of a line with what each is for: those of a pair of numbers, else by what stands next to what, from either side."""
    if parts := _alike(words):
        yield parts
    for form in SPLITS:
        if found := form.search(words):
            uses = [_use(one) for one in PURPOSE.finditer(found["uses"])] or ["train", "infer"]
            if sorted(uses) == ["infer", "train"]:
                yield [_Part(use, found, int(found[name])) for use, name in zip(uses, ("a", "b"), strict=True)]
    tokens = sorted([*SHARE.finditer(words), *_purposes(words)], key=lambda one: one.start())
    beside = [pair for pair in pairwise(tokens) if _together(words, *pair)]
    for pairs in (beside, beside[::-1]):
        if parts := sorted(_parts(words, pairs), key=lambda one: one.found.start()):
            yield parts


def _alike(words: str) -> list[_Part]:
    """Both shares, where they are told to be equal."""
    each, uses = EACH.search(words), {_use(one) for one in PURPOSE.finditer(words)}
    named = {_use(one) for one in PURPOSE.finditer(each[0])} if each else set()
    if each and (named == {"train", "infer"} or "训推" in each[0]):
        count = numeral(each["count"]) if each["count"] else 0
        return [_Part(use, each, count, half=not count) for use in ("train", "infer")]
    evenly = EVENLY.search(words) if uses == {"train", "infer"} else None
    return [_Part(use, evenly, half=True) for use in ("train", "infer")] if evenly else []


def _purposes(words: str) -> Iterator[re.Match[str]]:
    shares = [one.span() for one in SHARE.finditer(words)]
    for found in PURPOSE.finditer(words):
        if not any(start < found.end() and found.start() < end for start, end in shares):
            yield found


def _together(words: str, one: re.Match[str], other: re.Match[str]) -> bool:
    """Whether a share and a purpose stand next to each other."""
    return (one.re is SHARE) != (other.re is SHARE) and bool(BETWEEN.fullmatch(words, one.end(), other.start()))


def _parts(words: str, pairs: Sequence[tuple[re.Match[str], re.Match[str]]]) -> Iterator[_Part]:
    taken: set[int] = set()
    for pair in pairs:
        if taken & {one.start() for one in pair}:
            continue
        taken |= {one.start() for one in pair}
        share, use = pair if pair[0].re is SHARE else pair[::-1]
        yield _part(share, _use(use), words[max(0, pair[0].start() - 12) : pair[1].end()])


def _part(share: re.Match[str], use: str, around: str) -> _Part:
    groups = {name: word for name, word in share.groupdict().items() if word is not None}
    number = next((groups[name] for name in ("n", "bare", "rest", "rest_zh", "nth", "nth_zh") if name in groups), "")
    ids = next((groups[name] for name in ("ids", "ids_zh", "ids_bare") if name in groups), "")
    return _Part(
        use,
        share,
        count=numeral(number) if number else int("is_nth" in groups),
        half=any(name.startswith("half") for name in groups),
        rest="is_rest" in groups or "is_rest_zh" in groups,
        nodes=any("nodes" in name for name in groups),
        bare="bare" in groups or "ids_bare" in groups,
        alone=bool(ALONE.search(around)),
        ids=_listed(ids) if ids else frozenset(),
    )


def _use(found: re.Match[str]) -> str:
    return next(use for use in USES if found[use])


def _listed(words: str) -> frozenset[int]:
    """The numbers of a list, and those between the ends of a range."""
    numbers = [int(number) for number in re.findall(r"\d+", words)]
    ends = re.fullmatch(r"(\d+)\s?[-–~到至]\s?(\d+)", words.strip())
    return frozenset(range(numbers[0], numbers[1] + 1)) if ends else frozenset(numbers)
