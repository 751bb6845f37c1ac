"""The words that a key takes in the place of a number, and the one of them that says what is wanted and changes least."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from diagnose.conditions import alike, holds, in_range, told_version
from diagnose.facts.settings.spelling import normal
from diagnose.knowledge.records import Framework, Key
from diagnose.prescribe.beside import renumbered
from diagnose.types import Fact, Facts, Setting
from diagnose.vocabulary import Value, is_number

Words = Mapping[str, Mapping[str, Value]]
_SHARDING = ("deepspeed", "fsdp", "fsdp2", "megatron")
# one switch for both in some trainers, so that neither comes back to the cards alone
_ON_HOST = ("param_on_cpu", "optimizer_on_cpu")
_ON_CARDS: Mapping[str, Value] = dict.fromkeys(_ON_HOST, False)


def word(value: Value, like: str = "") -> str:
    """A value as it is written, yes and no in the person's own spelling."""
    if isinstance(value, bool):
        return str(value) if like in ("True", "False") else str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


@lru_cache(maxsize=128)
def by_spelling(framework: Framework) -> dict[str, tuple[Key, ...]]:
    """The framework’s keys by each of their spellings, and by another role’s that may lead."""
    found: dict[str, list[Key]] = {}
    for key in framework.keys:
        for spelling in {normal(one) for one in (key.key, *key.aliases, *key.leads)}:
            found.setdefault(spelling, []).append(key)
    return {spelling: tuple(keys) for spelling, keys in found.items()}


def words_of(key: Key, facts: Facts) -> Words:
    """All words that this key takes in this version: a record may tell them in several entries, and a trainer's own stand alone."""
    entries = by_spelling(facts.framework).get(normal(key.key), ()) if facts.framework else ()
    version = told_version(facts.values)
    same = [
        one
        for one in entries
        if one.key == key.key
        and not (one.hidden or one.dead)
        and in_range(one.since, one.until, version)
        and ("framework" in one.when or "framework" not in key.when)
    ]
    taken = [one.values for one in same if holds(one.when, facts.values) is not False]
    words = {word: given for values in (*taken, key.values) for word, given in values.items()}
    told = facts.stated.get("strategy")
    if told is None or told.origin != "read" or told.value not in _SHARDING or told.key in ("", key.key, *key.aliases):
        return words
    # another key of the paste names one library, and no trainer takes two
    return {word: given for word, given in words.items() if given.get("strategy", told.value) == told.value}


def by_values(
    words: Words, facts: Facts, id: str, target: Value, present: str = "", on: Collection[str] = ()
) -> tuple[tuple[Fact, ...], str] | None:
    """The written word whose facts hold the target, or the least of what lies beyond it, and otherwise change least.

    ``on`` is what the ``present`` word turns on: first comes a word that leaves it so, and what the new word does not name is off.
    Of several the one that keeps most parts of the ``present`` word: ``full_shard auto_wrap`` becomes ``full_shard auto_wrap offload``,
    then, where the trainer ships no file, the one that is the present one but for its number: stage2 becomes stage3, not zero3.
    """
    if target is False and id in _ON_HOST:  # a word of the library that does not name the host leaves both on the cards
        words = {one: {**_ON_CARDS, **given} if "strategy" in given else given for one, given in words.items()}
    possible = [
        (written, given)
        for written, given in words.items()
        if not any(_spoils(facts, other, value) for other, value in given.items() if not _of_one(id, other))
    ]
    target = _nearest([given.get(id) for _, given in possible], target, facts.values.get(id))
    fitting = [(written, given) for written, given in possible if alike(given.get(id), target)]
    if not fitting:
        return None
    parts, files = set(present.split()), any("/" in word for word, _ in fitting)
    written, given = min(
        fitting,
        key=lambda entry: (
            len(_gone(on, id, entry[1])),
            sum(not alike(facts.values.get(other), value) for other, value in entry[1].items()),
            len(parts.symmetric_difference(entry[0].split())) if parts else 0,
            files or not renumbered(entry[0], present),
        ),
    )
    after = {**dict.fromkeys(_gone(on, id, given), False), **given}
    return tuple(Fact(other, value, "answered") for other, value in after.items()), written


def _gone(on: Collection[str], id: str, given: Mapping[str, Value]) -> list[str]:
    """What the present word turns on and a new one in its place does not name."""
    return [other for other in on if other not in given and not _of_one(id, other)]


def _nearest(values: Sequence[Value | None], target: Value, now: Value | None) -> Value:
    """The target, or the first step beyond it where no word has the target: an engine that sleeps at level 2 alone still sleeps."""
    if any(alike(value, target) for value in values) or not (is_number(target) and is_number(now)):
        return target
    beyond = [value for value in values if is_number(value) and (value > target > now or value < target < now)]
    return min(beyond, key=lambda value: abs(value - target), default=target)


def _of_one(id: str, other: str) -> bool:
    return id == other or (id in _ON_HOST and other in _ON_HOST)


def _spoils(facts: Facts, id: str, value: Value) -> bool:
    """Whether a word would change another fact too: only what was off may come on, and the sharding library may change."""
    now = facts.values.get(id)
    if now is None or alike(now, value) or id == "strategy" or (now, value) == ("lora", "qlora"):
        return False
    return not (now is False and value is True)


def unread(framework: Framework | None, settings: Sequence[Setting], key: Key) -> bool:
    """Whether another key of the same number stands in the paste with what nobody could read, such as a variable: two of them clash."""
    if framework is None or key.values:
        return False
    others = {
        normal(spelling)
        for one in framework.keys
        if one.fact == key.fact and not one.values
        for spelling in (one.key, *one.aliases)
    }
    return any(normal(setting.key) in others and setting.value.startswith("$") for setting in settings)
