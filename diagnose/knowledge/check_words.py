"""Words of a record against the vocabulary: each misfit with its place and the word that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from diagnose import vocabulary
from diagnose.conditions import OPERATORS
from diagnose.knowledge.loader import Problem, did_you_mean


def word_misfits(place: str, where: str, word: str, words: Iterable[str]) -> Iterator[Problem]:
    known = list(words)
    if word not in known:
        yield Problem(f"{place}: {where}", f"unknown word{did_you_mean(word, known)}")


def fact_misfits(place: str, where: str, facts: Mapping[str, Any]) -> Iterator[Problem]:
    types: dict[str, tuple[type, ...]] = {
        "int": (int,),
        "number": (int, float),
        "bool": (bool,),
        "text": (str,),
        "choice": (str, bool),
    }
    for id, value in facts.items():
        spec = vocabulary.FACTS.get(id)
        if spec is None:
            yield Problem(f"{place}: {where}", f"unknown fact{did_you_mean(id, vocabulary.FACTS)}")
        elif not isinstance(value, types[spec.type]) or (isinstance(value, bool) and spec.type in ("int", "number")):
            yield Problem(f"{place}: {where}.{id}", f"is {value!r}, must be of type {spec.type}")
        elif spec.options and str(value).lower() not in dict(spec.options):
            yield from word_misfits(place, f"{where}.{id}", str(value), dict(spec.options))


def condition_misfits(
    place: str, where: str, conditions: Mapping[str, Any], words: Iterable[str] = vocabulary.FACTS
) -> Iterator[Problem]:
    for id, test in conditions.items():
        yield from word_misfits(place, where, id, words)
        if isinstance(test, Mapping):
            for operator in test:
                yield from word_misfits(place, f"{where}.{id}", operator, OPERATORS)
