"""Settings that an answer contradicts, and what goes with an answer by the words that the trainer itself has for it.

One word of a configuration often says several things: the estimator of PPO says that there is a critic, a file of ZeRO 3 that weights lie
on the host. Whoever answers one of them otherwise means another word, so that nothing else which the written one says holds either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from diagnose.conditions import alike, holds, in_range
from diagnose.facts.settings.key_values import facts_of
from diagnose.facts.settings.spelling import normal
from diagnose.knowledge.records import Framework, Key
from diagnose.types import Fact, Setting
from diagnose.vocabulary import FACTS, Value

Told = Mapping[str, Value]


class Denied(NamedTuple):
    """A key as the framework spells it, and the facts in which its setting says otherwise than an answer."""

    spelling: str
    ids: tuple[str, ...]


_SWITCH = ("true", "false")
_BY_WORDS = ("algo", "zero_stage", "optimizer")
_ADAPTERS = ("lora", "qlora")  # who answers one of them may mean both


def outranked(
    settings: Iterable[tuple[Setting, Key]], framework: Framework, version: str | None, values: Told, answers: Told
) -> dict[Setting, Denied]:
    """The settings that say otherwise than an answer, each with the facts in which it does.

    One whose key has no word for the answer stays in force in all else that it says: the answer is then said somewhere else.
    """
    said: dict[tuple[Setting, str], dict[str, Value]] = {}
    for setting, key in settings if answers else ():
        if not key.dead and holds(key.when, values) is not False:
            said.setdefault((setting, normal(key.key)), {}).update(facts_of(key, setting.value))
    found = {}
    for (setting, spelling), told in said.items():
        wrong = tuple(id for id in told if id in answers and _worded(id) and not _same(told[id], answers[id]))
        words = _words(framework, spelling, version, values, answers, wrong) if wrong else iter(())
        if next(words, None) is not None:
            found[setting] = Denied(spelling, wrong)
    return found


def goes_with(
    framework: Framework,
    version: str | None,
    values: Told,
    answers: Told,
    denied: Iterable[Denied],
    written: Iterable[Key],
) -> dict[str, Fact]:
    """What every word says that the trainer has for an answer: of a setting that is contradicted those of its own key, else all of them.

    An answer whose key is ``written`` and not contradicted has its word already. The keys of all trainers that have no record of their
    own are no one's vocabulary.
    """
    found: dict[str, Fact] = {}
    for spelling, ids in denied:
        _add(found, _common(_words(framework, spelling, version, values, answers, ids)), ids[0], answers)
    told = {id for key in written for id in _facts(key)}
    for id in answers.keys() - told if not framework.fallback else ():
        if any(alike(one.facts.get(id), answers[id]) for one in framework.defaults if not (one.fork or one.script)):
            continue  # it needs no word
        keys = _of_fact(framework).get(id, ()) if _worded(id) else ()
        words = (word for key in keys for word in _words(framework, key, version, values, answers, (id,)))
        _add(found, _common(words), id, answers)
    return found


def not_in_force(refused: Mapping[Setting, Denied], answers: Told) -> Iterator[str]:
    """A sentence for each setting that an answer takes out of force though it says more than what was answered."""
    for setting, denied in refused.items():
        answer = " and ".join(f"{FACTS[id].title.partition(' (')[0]} {answers[id]}" for id in denied.ids)
        yield f"{setting.key}={setting.value} is told and {answer} answered: the answer counts, and nothing else that this setting says."


def _add(found: dict[str, Fact], more: Told, id: str, answers: Told) -> None:
    for other, value in more.items():
        if other not in answers:
            why = f"goes with the answer {FACTS[id].title}: {answers[id]}"
            found.setdefault(other, Fact(other, value, "derived", why=why))


def _common(words: Iterator[Told]) -> Told:
    """What all of the words say."""
    common: dict[str, Value] | None = None
    for told in words:
        common = dict(told) if common is None else {id: value for id, value in common.items() if told.get(id) == value}
        if not common:
            break
    return common or {}


def _words(
    framework: Framework, spelling: str, version: str | None, values: Told, answers: Told, ids: Sequence[str]
) -> Iterator[Told]:
    """What each word of a key says that gives these answers and contradicts none."""
    entries = [
        key
        for key in _by_spelling(framework).get(spelling, ())
        if not key.dead and in_range(key.since, key.until, version) and _may_hold(key, values)
    ]
    words = dict.fromkeys(word for key in entries for word in (*key.values, *_plain(key, answers)))
    for word in words:
        told: dict[str, Value] = {}
        for key in entries:
            told.update(facts_of(key, word))
        given = all(id in told for id in ids)
        if given and all(_same(value, answers[id]) for id, value in told.items() if id in answers and _worded(id)):
            yield {id: value for id, value in told.items() if id not in answers}


def _plain(key: Key, answers: Told) -> tuple[str, ...]:
    """The words of a key without a table: yes and no, and the answer itself."""
    if key.values or not key.fact:
        return ()
    if FACTS[key.fact].type == "bool":
        return _SWITCH
    return (str(answers[key.fact]),) if key.fact in answers else ()


def _may_hold(key: Key, values: Told) -> bool:
    return holds(key.when, values) is not False and not ("framework" in key.when and "framework" not in values)


def _worded(id: str) -> bool:
    """Whether words name all values of the fact: what a key counts in a unit of its own cannot be held against an answer here."""
    return FACTS[id].type in ("bool", "choice") or id in _BY_WORDS


def _facts(key: Key) -> Iterable[str]:
    return (key.fact,) if key.fact else dict.fromkeys(id for told in key.values.values() for id in told)


def _same(value: Value, answer: Value) -> bool:
    return alike(value, answer) or (value in _ADAPTERS and answer in _ADAPTERS)


@lru_cache(maxsize=128)
def _by_spelling(framework: Framework) -> dict[str, tuple[Key, ...]]:
    found: dict[str, list[Key]] = {}
    for key in framework.keys:
        for spelling in {normal(one) for one in (key.key, *key.aliases)}:
            found.setdefault(spelling, []).append(key)
    return {spelling: tuple(keys) for spelling, keys in found.items()}


@lru_cache(maxsize=128)
def _of_fact(framework: Framework) -> dict[str, tuple[str, ...]]:
    """The spellings of all keys that can tell a fact."""
    found: dict[str, dict[str, None]] = {}
    for spelling, keys in _by_spelling(framework).items():
        for key in keys:
            for id in _facts(key):
                found.setdefault(id, {})[spelling] = None
    return {id: tuple(spellings) for id, spellings in found.items()}
