"""What of a set of cases depends on them alone, computed once for each set."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from diagnose.knowledge.records import Case
from diagnose.match.values import PRINTED, WEIGHTS, config_key, config_value, plain
from diagnose.vocabulary import Value

# A word that more than this share of the cases use tells nothing.
_COMMON = 0.25

_WORD = re.compile(r"[a-z0-9][a-z0-9_.\-]*[a-z0-9]|[a-z0-9]")
_CJK = re.compile(r"[\u3400-\u9fff]+")
_PARTS = re.compile(r"[_.\-]")


@dataclass(frozen=True, slots=True)
class Index:
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


_INDEXES: OrderedDict[tuple[int, ...], Index] = OrderedDict()


def index_of(cases: Sequence[Case]) -> Index:
    # Cases hold tables and cannot be hashed; the index keeps them alive, so their identities stay theirs.
    key = tuple(map(id, cases))
    index = _INDEXES.get(key)
    if index is None:
        index = _INDEXES[key] = _build(tuple(cases))
        if len(_INDEXES) > 4:
            _INDEXES.popitem(last=False)
    return index


def _build(cases: tuple[Case, ...]) -> Index:
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
    return Index(cases, dict(facts), dict(config), words, having, weights, lengths, {})


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
        tuple((id, plain(id, value)) for id, value in case.facts.items() if id in WEIGHTS or id in PRINTED),
        tuple((config_key(key), config_value(value)) for key, value in case.config.items()),
        frozenset(map(sys.intern, words_of(f"{case.title}\n{case.summary}\n{settings}\n{case.body}"))),
    )


def words_of(text: str) -> Iterator[str]:
    """Words and keys in lower case, keys also in their parts, and pairs of neighbouring Chinese characters."""
    lowered = text.lower()
    for word in dict.fromkeys(_WORD.findall(lowered)):
        if len(word) > 2:
            yield word
            yield from (part for part in _PARTS.split(word) if len(part) > 2 and part != word)
    for run in () if lowered.isascii() else _CJK.findall(lowered):
        yield from (run[i : i + 2] for i in range(len(run) - 1))


def _rarity(cases: int, having: int) -> float:
    """0 for what a quarter of the cases say, more the rarer it is. In a handful of cases every word counts a little."""
    if not having or (cases >= 8 and having > cases * _COMMON):
        return 0.0
    return math.log((cases + 1) / having)
