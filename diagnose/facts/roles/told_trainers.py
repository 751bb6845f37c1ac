"""How many cards train beside an engine that is served from others, in words: “vllm on gpu 3 (so 3 training processes)”.

Or by the numbers of both: “training on gpus 0-3, vllm on gpus 4-7”.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from diagnose.batch import whole
from diagnose.facts.sentences.prose import NUMERAL, numeral, span_of
from diagnose.types import Fact, Line
from diagnose.vocabulary import Value

_PROCESSES = (
    re.compile(
        rf"(?<![\w.\-/])(?P<n>{NUMERAL})\s+train(?:ing|er)\s+(?:process(?:es)?|procs?|ranks?|workers?)\b", re.I | re.A
    ),
    re.compile(rf"(?<![\w.\-/])(?P<n>{NUMERAL})\s?个?\s?训练(?:的)?\s?(?:进程|rank|worker)", re.I | re.A),
)
_ENGINE = r"(?:vllm|sglang|rollout|inference|推理)(?:[ -]?(?:serve|server|engine|服务|引擎)){0,2}"
_LIST = (
    r"(?P<list>\d{1,2}(?:\s?(?:[,，、&+-]|and|和)\s?\d{1,2}){0,7})(?![\d.]|\s?(?:gb|gib|g\b|gpus?\b|cards?\b|张|块|个))"
)
_ON_CARDS = (
    re.compile(rf"(?<![\w./-]){_ENGINE}\s+(?:runs?\s+|is\s+|sits\s+|lives\s+)?on\s+(?:gpus?|cuda|cards?)[\s:#]{{0,2}}{_LIST}", re.I | re.A),
    re.compile(
        rf"(?<![\w./-]){_ENGINE}\s?(?:单独)?(?:跑|放|部署|起|占)?(?:在|用)\s?(?:第\s?)?(?:gpu|cuda|卡)[\s:#]{{0,2}}{_LIST}(?!\s?卡)",
        re.I | re.A,
    ),
)  # fmt: skip
_CARDS = r"(?:gpus?|cuda|cards?|卡)"
_NUMBERED = {
    part: re.compile(
        rf"(?<![\w./-])(?:{who})\s?(?:{_CARDS}\s?)?(?:\b(?:runs?|is|are|sits?|lives?|uses?|on)\b\s?|[用占在跑放:：=]\s?){{1,3}}"
        rf"(?P<of>{_CARDS})?[\s:#]{{0,2}}{_LIST}(?P<after>\s?号?卡)?",
        re.I | re.A,
    )
    for part, who in (("train", r"train(?:ing|er)?|actor|训练"), ("infer", _ENGINE))
}
_NODES = r"(?:nodes?|machines?|servers?|hosts?|台(?:机器|服务器)?|个?节点)"
_ON_NODES = re.compile(
    rf"(?<![\w./-])(?:(?P<n>{NUMERAL})\s*{_NODES}|(?:the\s+)?other(?:\s+{_NODES})?|另(?:外)?一?(?:台(?:机器)?|个?节点))"
    r"\s*(?:(?:is|are|for|to|runs?|does|doing|serves?|only)\b\s*|用来|用于|负责|专门|只?(?:跑|做)\s*){0,3}(?:the\s+)?"
    r"(?:(?P<train>train(?:s|ing|er)?\b|训练)|(?P<infer>vllm|sglang|rollouts?|infer(?:ence)?\b|generat\w+|推理|采样|生成))",
    re.I | re.A,
)
_RANGE = re.compile(r"(\d{1,2})\s?-\s?(\d{1,2})", re.A)


def told_trainers(speech: Sequence[Line], known: Mapping[str, Fact]) -> dict[str, Fact]:
    """The cards that train, fewer than the run has; empty where no engine is served apart, or the words do not tell."""
    mode, values = known.get("rollout_mode"), {id: fact.value for id, fact in known.items()}
    cards = whole(values, "n_gpus")
    if mode is None or mode.value != "server" or not cards or "trainer_gpus" in known or _over_nodes(values):
        return {}
    for line in speech:
        for count, found in _counts(line, cards):
            if 0 < count < cards:
                span = span_of(line, found)
                return {"trainer_gpus": Fact("trainer_gpus", count, "read", written=found[0], span=span)}
    return {}


def numbered_cards(speech: Sequence[Line], known: Mapping[str, Fact]) -> dict[str, Fact]:
    """Both, and that the engine has its own, where a line numbers the cards of each: “training on gpus 0-3, vllm on gpus 4-7”.

    The numbers are those of all cards of one machine, each once; else nothing is told.
    """
    values = {id: fact.value for id, fact in known.items()}
    if "trainer_gpus" in known or _over_nodes(values):
        return {}
    for line in speech:
        parts = {part: found for part, form in _NUMBERED.items() if (found := form.search(line.words))}
        if len(parts) < len(_NUMBERED) or not any(found["of"] or found["after"] for found in parts.values()):
            continue
        taken = {part: _listed(found["list"]) for part, found in parts.items()}
        cards = sum(len(numbers) for numbers in taken.values())
        if set().union(*taken.values()) == set(range(cards)) and cards == (whole(values, "n_gpus") or cards):
            trains, span = parts["train"], span_of(line, parts["train"])
            told: dict[str, Value] = {"n_gpus": cards, "trainer_gpus": len(taken["train"]), "rollout_mode": "server"}
            return {
                id: Fact(id, value, "read", written=trains[0], span=span)
                for id, value in told.items()
                if id not in known
            }
    return {}


def parted_nodes(speech: Sequence[Line], known: Mapping[str, Fact]) -> dict[str, Fact]:
    """The cards that train where whole machines do one or the other: “one node trains, the other runs vllm”."""
    values = {id: fact.value for id, fact in known.items()}
    nodes, cards = whole(values, "n_nodes") or 0, whole(values, "n_gpus") or 0
    each = whole(values, "gpus_per_node") or cards // max(nodes, 1)
    if nodes < 2 or not each or "trainer_gpus" in known:
        return {}
    for line in speech:
        parts = {found.lastgroup: found for found in _ON_NODES.finditer(line.words)}
        counts = {part: numeral(found["n"]) if found["n"] else 1 for part, found in parts.items()}
        if len(parts) == 2 and sum(counts.values()) == nodes:
            trains = parts["train"]
            told: dict[str, Value] = {"trainer_gpus": counts["train"] * each, "rollout_mode": "server"}
            span = span_of(line, trains)
            return {
                id: Fact(id, value, "read", written=trains[0], span=span)
                for id, value in told.items()
                if id not in known
            }
    return {}


def _over_nodes(values: Mapping[str, Value]) -> bool:
    """Whether a number of a card may be that of any of several machines."""
    return (whole(values, "n_nodes") or 1) > 1


def _counts(line: Line, cards: int) -> Iterator[tuple[int, re.Match[str]]]:
    for form in _PROCESSES:
        yield from ((numeral(found["n"]), found) for found in form.finditer(line.words))
    for form in _ON_CARDS:
        for found in form.finditer(line.words):
            taken = _listed(found["list"])
            if max(taken) < cards:
                yield cards - len(taken), found


def _listed(words: str) -> set[int]:
    """The numbers of a list, and those between the ends of a range."""
    between = (range(int(first), int(last) + 1) for first, last in _RANGE.findall(words))
    return {int(number) for number in re.findall(r"\d+", words)} | {one for numbers in between for one in numbers}
