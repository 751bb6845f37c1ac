"""Which key a lever may write for a fact, in this framework and version, beside what the paste names."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from diagnose.batch import resolve
from diagnose.conditions import holds, in_range, only_rules_out, unknown
from diagnose.facts.settings.spelling import normal, places
from diagnose.knowledge.records import Framework, Key
from diagnose.types import Fact
from diagnose.vocabulary import Value

# what nothing denies is a training
TRAINS: Mapping[str, Value] = {"trains": True}


def writable(
    framework: Framework, version: str | None, stated: Mapping[str, Fact]
) -> tuple[dict[str, str], dict[str, str]]:
    """Fact → the first key that a lever may write, in the person's spelling where the paste has one, and its unit.

    What surely holds comes before what is only not ruled out, and that before what would have to be known. A key whose words name the
    algorithm stands behind one that sets the fact alone, one of a trainer that is known by name before what many call it.
    """
    (spelled, _), values = places(framework), {**TRAINS, **resolve(stated)}
    keys: dict[str, str] = {}
    units: dict[str, str] = {}
    there = [one for one in framework.keys if not (one.hidden or one.dead) and in_range(one.since, one.until, version)]
    of_scripts = [id for one in there if one.new_in == "script" for id in _sets(one)]
    there = [one for one in there if one.new_in != "script"]
    there = [one for one in there if not (_shards_otherwise(one, values) or _beside_a_file(one, stated))]
    taken = [one for one in there if holds(one.when, values) is not False and framework.takes(one, values)]
    for key in sorted(taken, key=lambda one: (_open(one, values), "framework" not in one.when, _names_algorithm(one))):
        for id in _sets(key):
            if id not in keys:
                keys[id] = key.key
                if key.unit:
                    units[id] = key.unit
    keys.update(_where_sharding_is_told(there, stated, keys))
    for id in dict.fromkeys((*keys, *of_scripts)):
        fact = stated.get(id)
        if (
            fact is not None
            and fact.key
            and _open_to(id, [framework.keys[n] for n in spelled.get(normal(fact.key), ())])
        ):
            keys[id] = fact.key
            units.pop(id, None)
            if fact.unit:
                units[id] = fact.unit
    return keys, units


def _shards_otherwise(key: Key, values: Mapping[str, Value]) -> bool:
    """Whether each word of the key makes a trainer of another kind than the one whose own launcher starts this run."""
    words = [given.get("strategy") for given in key.values.values()]
    return (
        values.get("strategy") == "megatron" and bool(words) and all(word not in (None, "megatron") for word in words)
    )


def _where_sharding_is_told(
    keys: Collection[Key], stated: Mapping[str, Fact], found: Collection[str]
) -> dict[str, str]:
    """The key that names the library which shards, for each fact that another of its words sets for the same one."""
    told = stated.get("strategy")
    if told is None or not told.key:
        return {}
    words = [
        (one.key, given)
        for one in keys
        if told.key in (one.key, *one.aliases)
        for given in one.values.values()
        if given.get("strategy") == told.value
    ]
    return {id: key for key, given in words for id in given if id in found and id != "strategy"}


def _names_algorithm(key: Key) -> bool:
    return any("algo" in facts for facts in key.values.values())


def _open(key: Key, values: Mapping[str, Value]) -> int:
    """How open the key's condition is: 0 it holds, 1 it only rules something out, 2 it names what nothing tells."""
    tests = [key.when[id] for id in unknown(key.when, values)]
    return 0 if not tests else 1 if all(map(only_rules_out, tests)) else 2


def _sets(key: Key) -> tuple[str, ...]:
    """The facts that the key sets."""
    return (key.fact,) if key.fact else tuple(dict.fromkeys(id for facts in key.values.values() for id in facts))


def _beside_a_file(key: Key, stated: Mapping[str, Fact]) -> bool:
    """Whether the key names a whole file of a launcher where the trainer takes one of DeepSpeed's already: no run takes both."""
    told = stated.get("strategy")
    if (
        key.new_in != "nowhere"
        or told is None
        or told.key in (key.key, *key.aliases)
        or not told.written.endswith(".json")
    ):
        return False
    return "strategy" in _sets(key) and not any("." in name for name in key.aliases)


def _open_to(id: str, keys: Collection[Key]) -> bool:
    """Whether a lever may write the fact at one of the keys of this spelling, or nobody knows the spelling."""
    return not keys or any(id in _sets(key) for key in keys if not key.hidden)
