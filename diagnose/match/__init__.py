"""How near a case is, and why: first the facts that both have, then the rare words that both use. No case near is an answer.

A fact that differs counts against a case; a fact that either side does not know counts for nothing. Everything that depends
on the cases alone is computed once for a set of cases, so that a thousand of them take milliseconds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from diagnose.knowledge.records import Case
from diagnose.match.index import Index, index_of, words_of
from diagnose.match.values import PRINTED, WEIGHTS, config_key, config_value, equality, model_name, plain
from diagnose.types import CaseMatch, Facts
from diagnose.vocabulary import Value

__all__ = ["WEIGHTS", "match", "model_name"]

MOST = 8
FLOOR = 0.22
# How many points a case must earn beyond what it can lose before a few equal facts count as near.
_SHRINK = 8.0
_TEXT_SHARE = 0.3
# What a key with the same word earns, with another loses, and what all of them earn at most.
_CONFIG_EQUAL = 0.35
_CONFIG_DIFFERS = 0.05
_CONFIG_MOST = 3.0


def match(facts: Facts, text: str, cases: Sequence[Case]) -> tuple[CaseMatch, ...]:
    """The nearest cases, at most eight, nearest first; none that is not near."""
    if not cases:
        return ()
    index = index_of(cases)
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


def _facts_points(facts: Facts, index: Index) -> tuple[list[float], list[float]]:
    same, against = [0.0] * len(index.cases), [0.0] * len(index.cases)
    for id, weight in (*WEIGHTS.items(), *PRINTED.items()):
        if (here := _held_against(facts, id)) is None or id not in index.facts:
            continue
        if id == "oom_kind" and here == "other":  # not settled, which is nothing in common
            continue
        equal, wanted, penalty = equality(id), plain(id, here), 0.0 if id in PRINTED else _against(id, weight)
        for there, having in index.facts[id].items():
            points, told = (same, weight) if equal(wanted, there) else (against, penalty)
            for i in having:
                points[i] += told
    _config_points(facts, index, same, against)
    return same, against


def _held_against(facts: Facts, id: str) -> Value | None:
    """What a case's fact is held against: nothing of an algorithm that nobody tells."""
    return None if id == "algo" and not facts.algo_told else facts.values.get(id)


def _config_points(facts: Facts, index: Index, same: list[float], against: list[float]) -> None:
    earned: Counter[int] = Counter()
    for key, value in facts.config.items():
        wanted = config_value(value)
        for there, having in index.config.get(config_key(key), {}).items():
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


def _text_points(text: str, index: Index) -> list[float]:
    """The cosine of both sets of rare words, from 0 to 1."""
    points, length = [0.0] * len(index.cases), 0.0
    for word in set(words_of(text)):
        if weight := index.weight(word):
            length += weight
            for i in index.holding(word):
                points[i] += weight
    here = math.sqrt(length) or 1.0
    return [min(1.0, point / (here * there)) for point, there in zip(points, index.lengths, strict=True)]


def _explain(facts: Facts, case: Case, score: float) -> CaseMatch:
    same, differs = [], []
    for id in (*WEIGHTS, *PRINTED):
        here, there = _held_against(facts, id), case.facts.get(id)
        if here is None or there is None:
            continue
        if equality(id)(plain(id, here), plain(id, there)):
            same.append((id, here))
        elif id not in PRINTED:
            differs.append((id, here, there))
    return CaseMatch(case, round(score, 4), tuple(same), tuple(differs))
