"""How near a case is, and why: first the facts that both have, then the rare words that both use. No case near is an answer.

A fact that differs counts against a case; a fact that either side does not know counts for nothing. Everything that depends
on the cases alone is computed once for a set of cases, so that a thousand of them take milliseconds.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from diagnose.knowledge.records import Case
from diagnose.types import CaseMatch, Facts
from diagnose.vocabulary import NUMBERS, Value

MOST = 8
FLOOR = 0.22
# How many points a case must earn beyond what it can lose before a few equal facts count as near.
_SHRINK = 8.0
_TEXT_SHARE = 0.3
# A word that more than this share of the cases use tells nothing.
_COMMON = 0.25

# What one equal fact is worth. Printed figures are worth most: two runs hardly ever print the same one, but for a card's total.
WEIGHTS = {
    "oom_kind": 3.0,
    "phase": 2.5,
    "framework": 2.5,
    "model": 2.0,
    "params_b": 1.5,
    "gpu_mem_gib": 1.0,
    "gpu_model": 0.5,
    "algo": 1.0,
    "full_or_lora": 1.0,
    "n_gpus": 1.0,
    "host_ram_gb": 1.0,
    "strategy": 0.5,
    "zero_stage": 0.5,
    "rollout_engine": 0.5,
    "rollout_mode": 0.7,
    "sleep_level": 0.5,
    "param_offload": 0.7,
    "optimizer_offload": 0.7,
    "ref_offload": 0.5,
    "gradient_checkpointing": 0.5,
}
_PRINTED = {id: 0.5 if id == "gpu_total_gib" else 2.5 for id in NUMBERS if id != "step"}
_CONFIG_EQUAL = 0.35
_CONFIG_DIFFERS = 0.05
_CONFIG_MOST = 3.0
# Sizes are told in round numbers: 7 and 7.6 billion are the same model size, 80 and 79.2 the same card.
_TOLERANCE = {"params_b": 0.15, "gpu_mem_gib": 0.06, "host_ram_gb": 0.06, "n_gpus": 0.0}
_PRINTED_TOLERANCE = 0.001

_WORD = re.compile(r"[a-z0-9][a-z0-9_.\-]*[a-z0-9]|[a-z0-9]")
_CJK = re.compile(r"[\u3400-\u9fff]+")
_PARTS = re.compile(r"[_.\-]")
_DIGITS = re.compile(r"[\d.]+")


def match(facts: Facts, text: str, cases: Sequence[Case]) -> tuple[CaseMatch, ...]:
    """The nearest cases, at most eight, nearest first; none that is not near."""
    if not cases:
        return ()
    index = _index(cases)
    scores = [
        _score(same, against, words)
        for same, against, words in zip(*_facts_points(facts, index), _text_points(text, index), strict=True)
    ]
    order = sorted((i for i, score in enumerate(scores) if score >= FLOOR), key=lambda i: (-scores[i], cases[i].slug))
    return tuple(_explain(facts, cases[i], scores[i]) for i in order[:MOST])


def _score(same: float, against: float, words: float) -> float:
    """From 0 to 1. Words alone never make a case near, but a text that is nearly the case's own lifts any."""
    by_facts = max(0.0, same - against) / (same + against + _SHRINK) if same > against else 0.0
    return min(1.0, (1 - _TEXT_SHARE) * by_facts + _TEXT_SHARE * words)


# --- what depends on the cases alone


@dataclass(frozen=True, slots=True)
class _Index:
    """The cases of a set by fact and value, and their words; a case is its place in the set. A word weighs by how many have it.

    Of many cases each paste brings a set of its own, so that only what every paste needs is worked out: in which cases a word stands
    is looked up when a paste holds it, and kept in ``places``. ``having`` tells in how many it stands, ``weights`` what that makes.
    """

    cases: tuple[Case, ...]
    facts: dict[str, dict[Value, list[int]]]
    config: dict[str, dict[Value, list[int]]]
    words: list[frozenset[str]]
    having: Mapping[str, int]
    weights: list[float]
    lengths: list[float]
    places: dict[str, list[int]]

    def weight(self, word: str) -> float:
        return self.weights[self.having.get(word, 0)]

    def holding(self, word: str) -> list[int]:
        """The cases that have the word."""
        if word not in self.places:
            self.places[word] = [i for i, words in enumerate(self.words) if word in words]
        return self.places[word]


_INDEXES: OrderedDict[tuple[int, ...], _Index] = OrderedDict()


def _index(cases: Sequence[Case]) -> _Index:
    # Cases hold tables and cannot be hashed; the index keeps them alive, so their identities stay theirs.
    key = tuple(map(id, cases))
    index = _INDEXES.get(key)
    if index is None:
        index = _INDEXES[key] = _build(tuple(cases))
        if len(_INDEXES) > 4:
            _INDEXES.popitem(last=False)
    return index


def _build(cases: tuple[Case, ...]) -> _Index:
    facts: defaultdict[str, dict[Value, list[int]]] = defaultdict(dict)
    config: defaultdict[str, dict[Value, list[int]]] = defaultdict(dict)
    own = [_said(_Own(case)) for case in cases]
    for i, said in enumerate(own):
        for id, value in said.facts:
            facts[id].setdefault(value, []).append(i)
        for key, written in said.config:
            config[key].setdefault(written, []).append(i)
    words = [said.words for said in own]
    having = Counter(chain.from_iterable(words))
    weights = [_rarity(len(cases), times) ** 2 for times in range(len(cases) + 1)]
    lengths = [math.sqrt(math.fsum(map(weights.__getitem__, map(having.__getitem__, each)))) or 1.0 for each in words]
    return _Index(cases, dict(facts), dict(config), words, having, weights, lengths, {})


class _Own:
    """A case by its identity, so that what is computed of it can be kept."""

    __slots__ = ("case",)

    def __init__(self, case: Case) -> None:
        self.case = case

    def __hash__(self) -> int:
        return id(self.case)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Own) and other.case is self.case


class _Said(NamedTuple):
    """What a case says, as it is compared; a word of several cases is one and the same string, which is found faster."""

    facts: tuple[tuple[str, Value], ...]
    config: tuple[tuple[str, str], ...]
    words: frozenset[str]


@lru_cache(maxsize=8192)
def _said(own: _Own) -> _Said:
    case = own.case
    settings = " ".join(f"{key} {value}" for key, value in (*case.config.items(), *case.facts.items()))
    return _Said(
        tuple((id, _plain(id, value)) for id, value in case.facts.items() if id in WEIGHTS or id in _PRINTED),
        tuple((_config_key(key), _config_value(value)) for key, value in case.config.items()),
        frozenset(map(sys.intern, _words(f"{case.title}\n{case.summary}\n{settings}\n{case.body}"))),
    )


def _words(text: str) -> Iterator[str]:
    """Words and keys in lower case, keys also in their parts, and pairs of neighbouring Chinese characters."""
    lowered = text.lower()
    for word in dict.fromkeys(_WORD.findall(lowered)):
        if len(word) > 2:
            yield word
            yield from (part for part in _PARTS.split(word) if len(part) > 2 and part != word)
    for run in _CJK.findall(lowered):
        yield from (run[i : i + 2] for i in range(len(run) - 1))


def _rarity(cases: int, having: int) -> float:
    """0 for what a quarter of the cases say, more the rarer it is. In a handful of cases every word counts a little."""
    if not having or (cases >= 8 and having > cases * _COMMON):
        return 0.0
    return math.log((cases + 1) / having)


# --- points


def _facts_points(facts: Facts, index: _Index) -> tuple[list[float], list[float]]:
    same, against = [0.0] * len(index.cases), [0.0] * len(index.cases)
    for id, weight in (*WEIGHTS.items(), *_PRINTED.items()):
        if (here := facts.values.get(id)) is None or id not in index.facts:
            continue
        if id == "oom_kind" and here == "other":  # not settled, which is nothing in common
            continue
        equal, wanted, penalty = _equal(id), _plain(id, here), 0.0 if id in _PRINTED else _against(id, weight)
        for there, having in index.facts[id].items():
            points, told = (same, weight) if equal(wanted, there) else (against, penalty)
            for i in having:
                points[i] += told
    _config_points(facts, index, same, against)
    return same, against


def _config_points(facts: Facts, index: _Index, same: list[float], against: list[float]) -> None:
    earned: Counter[int] = Counter()
    for key, value in facts.config.items():
        wanted = _config_value(value)
        for there, having in index.config.get(_config_key(key), {}).items():
            if wanted == there:
                earned.update(having)
                continue
            for i in having:
                against[i] += _CONFIG_DIFFERS
    for i, times in earned.items():
        same[i] += min(_CONFIG_MOST, times * _CONFIG_EQUAL)


def _against(id: str, weight: float) -> float:
    # Another pool is another illness; anything else may differ and the case still teach something.
    return weight if id == "oom_kind" else weight * 0.5


def _text_points(text: str, index: _Index) -> list[float]:
    """The cosine of both sets of rare words, from 0 to 1."""
    points, length = [0.0] * len(index.cases), 0.0
    for word in set(_words(text)):
        if weight := index.weight(word):
            length += weight
            for i in index.holding(word):
                points[i] += weight
    here = math.sqrt(length) or 1.0
    return [min(1.0, point / (here * there)) for point, there in zip(points, index.lengths, strict=True)]


# --- values side by side


def _plain(id: str, value: Value) -> Value:
    if id == "model":
        return model_name(str(value))
    return value.strip().lower() if isinstance(value, str) else value


def model_name(name: str) -> str:
    """A model's name for comparison: no organisation, no tuning word, no separators; ``Qwen/Qwen2.5-7B-Instruct`` → ``qwen2.57b``."""
    short = name.lower().rstrip("/").split("/")[-1]
    short = re.sub(r"[-_](instruct|chat|base|it|hf|1m|\d{4})(?=$|[-_])", "", short)
    return re.sub(r"[^a-z0-9.]", "", short)


def _equal(id: str) -> Callable[[Value, Value], bool]:
    if id in _PRINTED:
        return lambda here, there: _near(here, there, _PRINTED_TOLERANCE)
    if id in _TOLERANCE:
        return lambda here, there: _near(here, there, _TOLERANCE[id])
    if id == "model":
        return lambda here, there: here == there
    return lambda here, there: here == there or str(here).lower() == str(there).lower()


def _near(here: Value, there: Value, tolerance: float) -> bool:
    if isinstance(here, str) or isinstance(there, str):
        return False
    return abs(here - there) <= tolerance * max(abs(here), abs(there))


def _config_key(key: str) -> str:
    return key.lstrip("-+").lower().replace("-", "_")


def _config_value(value: Value) -> str:
    word = str(value).strip().strip("'\"").lower()
    return f"{float(word):g}" if _DIGITS.fullmatch(word) and word.count(".") < 2 and word != "." else word


def _explain(facts: Facts, case: Case, score: float) -> CaseMatch:
    same, differs = [], []
    for id in (*WEIGHTS, *_PRINTED):
        here, there = facts.values.get(id), case.facts.get(id)
        if here is None or there is None:
            continue
        if _equal(id)(_plain(id, here), _plain(id, there)):
            same.append((id, here))
        elif id not in _PRINTED:
            differs.append((id, here, there))
    return CaseMatch(case, round(score, 4), tuple(same), tuple(differs))
