"""A fact's new value as the person's own configuration writes it: its key, its unit, its word for yes and no."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from diagnose.batch import to_written
from diagnose.conditions import alike, holds, in_range, told_version
from diagnose.estimate import Plan, plan_of
from diagnose.facts.settings.spelling import normal
from diagnose.facts.settings.written import bare, truth
from diagnose.knowledge.records import Framework, Key
from diagnose.prescribe.as_shipped import with_shipped
from diagnose.prescribe.beside import SWITCH, beside, renumbered
from diagnose.prescribe.company import as_call, company, same_key
from diagnose.prescribe.follows import followed
from diagnose.prescribe.key_words import by_spelling, by_values, unread, word, words_of
from diagnose.prescribe.older_path import older_path
from diagnose.prescribe.shown_in_limit import holds_images
from diagnose.prescribe.situation import Situation
from diagnose.prescribe.whole_path import whole_path
from diagnose.types import Change, Fact, Facts, Setting
from diagnose.vocabulary import FACTS, Value

# What the data or the model's processor hold as well, where a trainer has no key for it.
_OF_THE_DATA = ("max_pixels", "image_tiles", "engine_image_pixels")
_FILE = re.compile(r"\.(?:json|ya?ml|toml|py|sh)$", re.I | re.A)


@dataclass(frozen=True)
class Written:
    """New facts, and what the person changes to get them. ``fallback`` plans a run of no framework that is known."""

    facts: Facts
    changes: tuple[Change, ...]
    fallback: Framework | None = None

    @cached_property
    def plan(self) -> Plan | None:
        """The changed run as the estimate sees it."""
        return plan_of(self.facts, self.fallback)


def write(situation: Situation, targets: Mapping[str, Value], keyless: bool) -> Written | None:
    """The facts with ``targets`` (each in its own unit) and the changes of keys; None when a key for one is missing."""
    facts, changes = situation.facts, []
    for id, target in targets.items():
        key = key_of(facts, id)
        another = key is not None and key.new_in == "file"  # of another library, and the same for every trainer
        own = not keyless and key is not None and _of_fork(key, facts)
        outside = keyless or not (situation.framework_known or another) or in_data_alone(facts, id)
        inside = _inside(situation, facts, id, target) if own or not outside else None
        one = inside or (_outside(facts, id, target) if outside else None)
        if one is None or one[1].before == one[1].after:  # a key may know no smaller step than the one it stands at
            return None
        changed, change = one
        facts = facts.with_facts(changed)
        key = key_of(situation.facts, change.fact) if situation.framework_known or (own and inside) else None
        beside = [change, *(company(situation, change, key) if key else ())]
        for one in beside if key else ():
            facts = facts.with_facts([fact for fact in _also_says(facts, one) if fact.id not in targets])
        changes += [as_call(situation, one, key) if key else one for one in beside]
    once = {(one.key or one.fact, one.span, one.after): one for one in changes}  # two facts may share a key
    return Written(followed(situation, facts), tuple(once.values()), situation.fallback)


def in_data_alone(facts: Facts, id: str) -> bool:
    """Whether the data or the processor set it, since no key of this run's framework does."""
    return id in _OF_THE_DATA and id not in facts.keys and holds_images(facts)


def _of_fork(key: Key, facts: Facts) -> bool:
    """Whether a trainer that is read by many’s keys has this one of its own: the key’s condition names the trainer."""
    return facts.fork is not None and facts.fork.written and key.when.get("framework") == facts.fork.id


def _also_says(facts: Facts, change: Change) -> Iterator[Fact]:
    """What a written word turns on or off beside the fact that it is written for, by the other entries of its key."""
    written, version = change.after.lower(), told_version(facts.values)
    for key in by_spelling(facts.framework).get(normal(change.key), ()) if facts.framework else ():
        if key.dead or not in_range(key.since, key.until, version) or holds(key.when, facts.values) is not True:
            continue
        given = next((told for word, told in key.values.items() if word.lower() == written), {})
        if key.fact and not key.values and written in SWITCH and key.above is None and FACTS[key.fact].type == "bool":
            given = {key.fact: (written == "true") != key.negated}
        for id, value in given.items():
            if not alike(facts.values.get(id), value):
                yield Fact(id, value, "answered")


def key_of(facts: Facts, id: str) -> Key | None:
    """The key that this run's framework and version uses for a fact, also where it is pasted without the head of its path.

    A dead or hidden one is none.
    """
    name = facts.keys.get(id)
    if not name or name in facts.dead_keys or facts.framework is None:
        return None
    keys = by_spelling(facts.framework).get(normal(name)) or [
        key for key in facts.framework.keys if key.key.endswith(f".{name}")
    ]
    version = told_version(facts.values)
    # an old spelling may be pasted where the version is not told: what this version reads comes first and rules none out
    for key in sorted(keys, key=lambda one: (not in_range(one.since, one.until, version), not _of_fork(one, facts))):
        holding = holds(key.when, facts.values)
        if holding is False or (holding is None and key.new_in == "nowhere"):
            continue  # a default settles it, or it is part of a launcher's file and nobody knows whether that launcher runs
        if not key.dead and not key.hidden and (key.fact == id or any(id in given for given in key.values.values())):
            return key
    return None


# what a number may count for the key to be written by hand: nothing beyond itself
_OF_ONE_GPU = ("", "sequences_per_gpu", "tokens_per_gpu")


def _outside(facts: Facts, id: str, target: Value) -> tuple[tuple[Fact, ...], Change]:
    """A change that no key of the configuration makes: more cards, or a framework whose keys nobody has told us."""
    stated, now = facts.stated.get(id), facts.values.get(id)
    in_paste = stated is not None and stated.origin == "read" and stated.span is not None and bool(stated.key)
    counted = stated is None or stated.unit in _OF_ONE_GPU
    change = Change(id, "", None if now is None else word(now), word(target))
    if stated and in_paste and counted and FACTS[id].type != "text" and FACTS[id].group != "machine":
        plain = word(target, stated.written)
        # a switch takes yes and no alone, and what is written in other words takes neither
        switches, switched = stated.written.lower() in SWITCH, plain.lower() in SWITCH
        if (switches and not switched) or (switched and stated.written and truth(stated.written) is None):
            plain = ""
        if _FILE.search(bare(stated.written)):
            plain = ""
        if isinstance(target, str) and normal(bare(stated.written)) != normal(word(stated.value)):
            plain = ""  # the rank of adapters, of which “lora” follows, takes no other word
        if after := _spelled(facts, stated, target) or plain:
            change = Change(id, stated.key, stated.written or word(stated.value), after, stated.span)
    return (Fact(id, target, "answered"),), change


def _spelled(facts: Facts, stated: Fact, target: Value) -> str:
    """The written value with the word for the target in the place of the present one; empty where the key has no words of its own.

    ``max_split_size_mb:512,expandable_segments:True`` keeps its other part. A file of which no part tells the present value has none.
    """
    keys = [key for key in (facts.framework.keys if facts.framework else ()) if stated.key in (key.key, *key.aliases)]
    new = ""
    for key in keys:
        words = [word for word in key.values if _means(facts, stated.id, key.values[word], target)]
        old = [written for written, given in key.values.items() if alike(given.get(stated.id), stated.value)]
        present = next((written for written in old if written in stated.written), "")
        if words and present:
            own = next(filter(None, (renumbered(word, stated.written) for word in words)), "")
            return own or stated.written.replace(present, words[0])
        new = new or next(iter(words), "")
    return "" if _FILE.search(bare(stated.written)) else new


def _means(facts: Facts, id: str, given: Mapping[str, Value], target: Value) -> bool:
    return alike(given.get(id), target) and not _adds(facts, id, given)


def _adds(facts: Facts, id: str, given: Mapping[str, Value]) -> bool:
    """Whether a word would turn something on beside what it is written for."""
    return any(value is True and other != id and facts.values.get(other) is not True for other, value in given.items())


def _inside(situation: Situation, facts: Facts, id: str, target: Value) -> tuple[tuple[Fact, ...], Change] | None:
    key = key_of(facts, id)
    if key is None:
        return None
    stated = facts.stated.get(id)
    read = stated if stated and stated.origin == "read" and stated.span else None
    if read and read.key and not any(same_key(read.key, name) for name in (key.key, *key.aliases, *key.leads)):
        if not (key.new_in == "nowhere" and _FILE.search(bare(read.written)) and _beside_the_stage(key, facts)):
            return None  # the words of one key say nothing at another
        read = None  # the name of a file tells what stands at this key inside it
    unit = stated.unit if stated else facts.units.get(id, "")
    # The key may stand in the paste with a word that says nothing about this fact.
    names = {key.key, *key.aliases}
    there = next((setting for setting in reversed(situation.paste.settings) if setting.key in names), None)
    present = read.written if read and read.key else there.value if there else ""
    new = (
        by_values(words_of(key, facts), facts, id, target, present, _turned_on(key, facts, read or there))
        if key.values
        else _by_number(key, facts, id, target, unit, read)
    )
    if new is None:
        return None
    changed, after = new
    if read:
        if not read.key:  # told in a sentence, which no patch may change
            said = word(read.value)  # a word that the key does not take is none of its
            before = said if not key.values or said in key.values else None
            return changed, Change(id, _styled(key, facts.keys[id], situation), before, after)
        return changed, Change(
            id,
            whole_path(read, key, situation),
            read.written or word(read.value),
            beside(key, read.written, after),
            read.span,
        )
    if there:
        return changed, Change(id, there.key, there.value, beside(key, there.value, after), there.span)
    if unread(facts.framework, situation.paste.settings, key):
        return None
    return changed, with_shipped(Change(id, _styled(key, facts.keys[id], situation), None, after), key, facts)


def _turned_on(key: Key, facts: Facts, written: Fact | Setting | None) -> list[str]:
    """What a word in the paste turns on; nothing of a file of the person's own, whose next one differs by its number alone."""
    if written is None or key.new_in == "script":
        return []
    return [id for id, fact in facts.stated.items() if fact.value is True and fact.span == written.span]


def _styled(key: Key, name: str, situation: Situation) -> str:
    """The spelling of a new key that goes with the release and the paste: without dots where none of its flags and known keys has any."""
    if key.new_in == "nowhere" and (path := _beside_the_stage(key, situation.facts)):
        return path
    if name == key.key and (path := older_path(key, situation)):
        return path
    if "." not in name or situation.facts.framework is None:
        return name
    plain = next((alias for alias in key.aliases if "." not in alias), name)
    since, told = situation.facts.framework.dotted_since, told_version(situation.facts.values)
    if since and told and not in_range(since, "", told):
        return plain
    known = by_spelling(situation.facts.framework)
    keys = [one.key for one in situation.paste.settings if one.shape == "flag" or one.key in known]
    # an override is taken by its whole path alone, however short it stands in a sentence, and whatever flag names its file
    flags = any(one.shape == "flag" and one.key in known for one in situation.paste.settings)
    fork = situation.facts.fork
    pathed = situation.facts.framework.config_shape == "override" and not flags
    pathed = pathed or (fork is not None and fork.config_shape == "override")
    if not keys or pathed or any("." in key for key in keys):
        return name
    return plain


def _beside_the_stage(key: Key, facts: Facts) -> str:
    """The spelling that belongs to the file from which the stage was read: under the same head, or in a file of nested tables."""
    for told in (facts.stated.get(id) for id in ("zero_stage", "strategy")):
        if told is None or not ("." in told.key or told.written.endswith(".json")):
            continue
        head = told.key.partition(".")[0] + "." if "." in told.key else ""
        nested = [name for name in (key.key, *key.aliases) if "." in name and name.startswith(head)]
        return max(nested, key=lambda name: name.count("."), default="")
    return ""


def _by_number(
    key: Key, facts: Facts, id: str, target: Value, unit: str, read: Fact | None
) -> tuple[tuple[Fact, ...], str] | None:
    like = read.written if read else ""
    if isinstance(target, bool):
        if key.above is not None:
            return None if target else ((Fact(id, False, "answered"),), word(key.above))
        return (Fact(id, target, "answered"),), word(target != key.negated, like)
    if isinstance(target, str):
        yes = truth(target) if key.negated else None  # of a choice that holds a yes
        return (Fact(id, target, "answered"),), target if yes is None else word(not yes, like)
    number = in_unit(facts, id, target, unit)
    return None if number is None else ((Fact(id, number, "answered", unit=unit),), word(number))


def in_unit(facts: Facts, id: str, target: float, unit: str) -> float | int | None:
    """``target`` in the written unit, whole where the fact is, rounded towards the change: down when it falls, up when it grows."""
    number = to_written(target, unit, facts.values)
    if number is None:
        return None
    if FACTS[id].type != "int":
        return round(number, 3)
    now = facts.number(id)
    return math.ceil(number) if now is not None and target > now else math.floor(number)
