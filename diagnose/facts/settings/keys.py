"""The paste's settings → facts, by the keys of one framework in one version."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from diagnose.batch import resolve
from diagnose.conditions import holds, in_range
from diagnose.facts.settings import written
from diagnose.facts.settings.key_values import facts_of
from diagnose.facts.settings.outranked import goes_with, not_in_force, outranked
from diagnose.facts.settings.proven import Proofs
from diagnose.facts.settings.spelling import Places, deeper, normal, places
from diagnose.facts.settings.writable import TRAINS, writable
from diagnose.facts.trainer.shipped import of_shipped
from diagnose.knowledge.records import Framework, Key
from diagnose.types import Fact, Paste, Setting
from diagnose.vocabulary import Value

_OBJECT = re.compile(r"(?:\w*_)?(?:args|arguments|config|cfg|kwargs)", re.A)  # training_args.learning_rate = …
_VARIABLE = re.compile(r"\$[{(]?[A-Za-z_]", re.A)


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """What the keys gave: facts, the keys that no lever may use with the reason, and the keys and units for levers.

    ``denied`` is what a setting says that a line of the paste disproves. ``untold`` maps a fact to the setting that gives it the value of
    a variable which nothing in the paste sets. ``remarks`` are of settings that are not in force.
    """

    stated: Mapping[str, Fact] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    dead: Mapping[str, str] = field(default_factory=dict)
    denied: tuple[Fact, ...] = ()
    untold: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Match:
    setting: Setting
    key: Key
    exact: bool


def read_keys(
    paste: Paste,
    framework: Framework,
    version: str | None,
    known: Mapping[str, Fact],
    certain: bool = True,
    proven: Proofs | None = None,
) -> KeyFacts:
    """Two passes: keys without a condition first, then those whose condition may need the first pass' facts.

    ``known`` are facts that outrank the keys (answers, what is proven) and count in conditions; there a shipped script that is named
    counts too, below all keys. A setting that is ``proven`` not to be in force says nothing. A version that is not ``certain`` chooses
    between the senses of a key and rules none out.
    """
    matches = _ranked(_matches(paste, framework, version, *places(framework), certain))
    stated: dict[str, Fact] = dict(known)
    dead: dict[str, str] = {}
    denied: dict[str, Fact] = {}
    shipped = _shipped(paste, framework, version)
    answers = {id: fact.value for id, fact in known.items() if fact.origin == "answered"}
    pairs, first = [(one.setting, one.key) for one in matches], resolve(known)
    refused = outranked(pairs, framework, version, first, answers)
    for conditional in (False, True):
        if conditional and answers:
            told = [key for setting, key in pairs]
            beside = goes_with(framework, version, resolve(stated), answers, refused.values(), told)
            stated = {**beside, **stated}
        values = {**TRAINS, **resolve({**shipped, **stated})}
        for match in matches:
            if bool(match.key.when) == conditional and match.setting not in refused:
                if not (against := _against(match, values, proven or {})):
                    _apply(match, values, stated, dead, known)
                for fact in against:
                    denied.setdefault(fact.key, fact)
    keys, units = writable(framework, version, stated)
    read = {id: fact for id, fact in stated.items() if id not in known}
    if "full_or_lora" in stated and stated["full_or_lora"].value == "full":
        read.pop("lora_rank", None)  # of adapters that are switched off
    remarks = tuple(not_in_force(refused, answers))
    return KeyFacts(read, keys, units, dead, tuple(denied.values()), _untold(matches, stated), remarks)


def _untold(matches: list[_Match], stated: Mapping[str, Fact]) -> dict[str, str]:
    """What a command sets to a variable whose value is not there, or to none of it: neither read nor left at its default."""
    values, found = {**TRAINS, **resolve(stated)}, {}
    for key, setting in ((match.key, match.setting) for match in matches):
        if setting.command < 0 or not _open_ended(key.fact, setting.value) or holds(key.when, values) is False:
            continue
        for id in (key.fact,) if key.fact else {id for facts in key.values.values() for id in facts}:
            if id and id not in stated:
                found[id] = f"{setting.key}={setting.value}"
    return found


def _open_ended(id: str, value: str) -> bool:
    """Whether a value tells nothing: a variable, a step of no prompts, or machines and cards by what somebody still has to fill in."""
    unfilled = (
        id in ("n_nodes", "gpus_per_node", "n_gpus") and not written.not_set(value) and written.of(id, value) is None
    )
    return bool(_VARIABLE.search(value)) or unfilled or (id == "train_batch_size" and value.strip() == "0")


def _against(match: _Match, values: Mapping[str, Value], proven: Proofs) -> list[Fact]:
    """What the setting says and a line disproves: then it is not in force, and nothing that it says is."""
    key, setting = match.key, match.setting
    if not proven or holds(key.when, values) is False:
        return []
    told = facts_of(key, setting.value)
    return [
        Fact(id, value, "read", "", setting.key, setting.value, setting.span)
        for id, value in told.items()
        if id in proven and proven[id].denies(value)
    ]


def _shipped(paste: Paste, framework: Framework, version: str | None) -> dict[str, Fact]:
    """What the shipped scripts that the paste names set, whatever else the run sets."""
    others = (one for one in framework.defaults if one.script and one.script in paste.text and not one.file)
    named = [one for one in (*others, *of_shipped(framework, paste)) if not one.when and not one.fork]
    given = [one.facts for one in named if in_range(one.since, one.until, version)]
    return {id: Fact(id, value, "default") for facts in given for id, value in facts.items()}


def _matches(
    paste: Paste, framework: Framework, version: str | None, spelled: Places, below: Places, certain: bool
) -> list[_Match]:
    """Every setting with every entry that it may mean in this version."""
    found: list[_Match] = []
    for setting in paste.settings:
        word = normal(setting.key)
        section, _, inner = word.partition(".")
        whole = word in spelled or any("framework" not in framework.keys[place].when for place in below.get(word, ()))
        if not whole and (section in framework.sections or _OBJECT.fullmatch(section)):
            word = inner
        # what one trainer spells with its section, many spell without it
        shared = spelled.get(inner, ()) if framework.fallback and section in framework.sections else ()
        keys = [framework.keys[place] for place in sorted({*spelled.get(word, ()), *shared})]
        here = [_Match(setting, key, word == normal(key.key)) for key in keys]
        here = here or _by_last_parts(paste, setting, framework, deeper(word, spelled, below), version)
        inside = [match for match in here if in_range(match.key.since, match.key.until, version)]
        # an old spelling tells of an old version where none is named
        found += inside or (here if version is None or not certain else [])
    return found


def _by_last_parts(
    paste: Paste, setting: Setting, framework: Framework, places: list[int], version: str | None
) -> list[_Match]:
    """A key pasted without the head of its path, or below a deeper one, where only one meaning is left; alone it is the policy's.

    What holds on a condition is not meant where the text nowhere names the section that it stands in.
    """
    if setting.key.lower() == _OF_PROCESS:
        return []
    found = [_Match(setting, framework.keys[place], False) for place in places if not framework.keys[place].note]
    found = [match for match in found if in_range(match.key.since, match.key.until, version)] or found
    # what many call so comes before one trainer's own
    found = [match for match in found if "framework" not in match.key.when] or found
    if "." in setting.key:  # a key's own spelling is nearer than what stands in for another
        found = [match for match in found if normal(match.key.key).endswith(f".{normal(setting.key)}")] or found
    else:
        found = [match for match in found if _OTHERS.isdisjoint(match.key.key.split("."))] or found
    if "." not in setting.key and not _agree(found) and any(not match.key.when for match in found):
        whole = paste.text.lower()
        found = [match for match in found if not match.key.when or _section(match.key) in whole]
    return found if _agree(found) else []


def _agree(found: list[_Match]) -> bool:
    meanings = {(match.key.fact, match.key.unit, tuple(match.key.values), match.key.dead) for match in found}
    return len(meanings) == 1 or len({match.key.key for match in found}) == 1


def _section(key: Key) -> str:
    """``megatron`` of ``actor.megatron.tensor_model_parallel_size``."""
    return key.key.rpartition(".")[0].rpartition(".")[2].lower()


# which alone is that of the process that prints
_OF_PROCESS = "rank"
# models beside the policy, as their settings' paths name them
_OTHERS = frozenset(("critic", "ref", "reward", "reward_model"))


def _ranked(matches: list[_Match]) -> list[_Match]:
    """Weakest first: files before commands, small commands before the large one, aliases before the key, then as written."""
    sizes: dict[int, int] = {}
    for setting in {id(match.setting): match.setting for match in matches}.values():
        sizes[setting.command] = sizes.get(setting.command, 0) + (setting.command >= 0)
    return sorted(matches, key=lambda match: (sizes[match.setting.command], match.exact))


def _apply(
    match: _Match, values: Mapping[str, Value], stated: dict[str, Fact], dead: dict[str, str], known: Mapping[str, Fact]
) -> None:
    key, setting = match.key, match.setting
    holding = holds(key.when, values)
    # the sense that one trainer gives a key is not that of a run whose trainer nobody names
    of_another = "framework" in key.when and "framework" not in values
    if holding is False or of_another:
        return
    if key.dead:
        if holding:
            dead[setting.key] = key.dead
        return
    if setting.command >= 0 and "$" in setting.value and key.fact not in known:
        # the command's value is not told: what stands elsewhere is not this run's
        stated.pop(key.fact, None)
    for id, value in facts_of(key, setting.value).items():
        if id not in known and not (
            id in stated and (_listed_off(key, setting) or _printed(setting, stated[id], value))
        ):
            unit = key.unit if id == key.fact else ""
            stated[id] = Fact(id, value, "read", unit, setting.key, setting.value, setting.span)


def _printed(setting: Setting, told: Fact, value: Value) -> bool:
    """Whether a program only prints under its own name what the person's setting gave it: that is the one to change."""
    return (
        setting.shape == "dump" and bool(told.key) and told.value == value and normal(told.key) != normal(setting.key)
    )


def _listed_off(key: Key, setting: Setting) -> bool:
    """Whether a flag that takes no word stands in a list of all arguments as not given: that overrules no other key."""
    return key.switch and setting.shape in ("dump", "python") and written.truth(setting.value) is False
