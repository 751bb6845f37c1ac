"""What holds when nothing sets it: the framework's own defaults, and those of a shipped script that the paste names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache

from diagnose.batch import resolve
from diagnose.conditions import holds, in_range
from diagnose.facts.settings.complete import complete
from diagnose.facts.settings.keys import read_keys
from diagnose.facts.settings.proven import known, proofs
from diagnose.facts.settings.writable import writable
from diagnose.facts.trainer.own_script import own_script
from diagnose.facts.trainer.shipped import of_shipped
from diagnose.knowledge.records import Default, Fork, Framework
from diagnose.types import Fact, Facts, Paste
from diagnose.vocabulary import FACTS

_CARDS, _OF_ROLES = ("n_gpus", "n_nodes", "gpus_per_node"), ("trainer_gpus", "critic_gpus", "ref_gpus", "reward_gpus")
_BY_NAME = ("model",)  # a file names it: read with all other names of models (diagnose/facts/trainer/shipped.py)
_OF_TRAINERS = ("run", "sizes", "memory")  # groups of facts of which an engine alone has none by default


def with_defaults(
    stated: Mapping[str, Fact],
    framework: Framework,
    version: str | None,
    units: Mapping[str, str],
    paste: Paste,
    fork: Fork | None = None,
    untold: Collection[str] = (),
) -> dict[str, Fact]:
    """The stated facts and, for those that nothing states, the defaults in the unit of the active key; none for those ``untold``.

    A condition sees what stands already. What a shipped file says comes first and stays, then a fork's own; of the rest later entries
    outrank earlier ones.
    """
    facts, barred = dict(stated), {*untold, *_bounded_by_rows(stated), *_counted(stated), *_BY_NAME}
    barred |= _unlimited(framework, fork)
    groups = _OF_TRAINERS if _runs_engine_alone(stated) else ()
    for layer in (of_shipped(framework, paste), _of_fork(fork), _of_code(framework)):
        settled, values = {*facts, *barred}, resolve(facts)
        for default in layer:
            if not _meant(default, stated, version, fork, paste) or not holds(default.when, values):
                continue
            why, other = _why(default, framework, fork), _of_other_cards(default, stated)
            more = {
                id: Fact(id, value, "assumed" if default.assumed else "default", units.get(id, ""), why=why)
                for id, value in default.facts.items()
                if id not in settled and id not in other and FACTS[id].group not in groups
            }
            if (part := _same_part(default, stated)) is not None and part.id not in settled:
                more[part.id] = part
            if more:
                facts |= more
                values = resolve(facts)
    return facts


@lru_cache(maxsize=128)
def _of_code(framework: Framework) -> tuple[Default, ...]:
    return tuple(one for one in framework.defaults if not one.file)


def _of_fork(fork: Fork | None) -> tuple[Default, ...]:
    return (Default(facts=fork.facts, why=f"default of {fork.title}"),) if fork else ()


def _meant(default: Default, stated: Mapping[str, Fact], version: str | None, fork: Fork | None, paste: Paste) -> bool:
    """Whether it is one of this trainer and version, and of what is pasted; its conditions apart."""
    if default.fork and (fork is None or fork.id != default.fork):
        return False
    if (default.script and not default.file and not _used(default, stated, paste)) or not _shown(default, paste):
        return False
    return in_range(default.since, default.until, version)


def _counted(stated: Mapping[str, Fact]) -> Collection[str]:
    """What follows from the cards that are told: no default of it holds."""
    if "n_gpus" not in stated:
        return ("n_gpus",) if "gpus_per_node" in stated else ()
    return ("n_nodes", "gpus_per_node") if "gpus_per_node" in stated else ("gpus_per_node",)


def _of_other_cards(default: Default, stated: Mapping[str, Fact]) -> Collection[str]:
    """What a default says of cards, and of their split among roles, where the run is told to have others."""
    told = {id: stated[id] for id in _CARDS if id in stated}
    own = {id: Fact(id, default.facts[id], "default") for id in _CARDS if id in default.facts}
    if not told or not (own or any(id in default.facts for id in _OF_ROLES)):
        return ()
    cards, shipped = resolve(told).get("n_gpus"), resolve(own).get("n_gpus")
    if cards is not None and shipped is not None:
        return () if cards == shipped else (*_OF_ROLES, *_CARDS)
    return _OF_ROLES


def _same_part(default: Default, stated: Mapping[str, Fact]) -> Fact | None:
    """The cards that train, where a run uses a shipped file on more or fewer cards: taken to be the same part of them.

    An engine keeps cards of its own on any number (inclusionAI/AReaL v0.5.0 areal/utils/launcher.py:
    validate_config_for_distributed_launcher).
    None where the file gives other roles cards of their own, or where that part is no whole number.
    """
    own = {id: Fact(id, default.facts[id], "default") for id in _CARDS if id in default.facts}
    said = {id: stated[id] for id in _CARDS if id in stated}
    others = {} if "n_gpus" in said else {id: fact for id, fact in own.items() if id != "n_gpus"}
    told, whole = resolve({**others, **said}).get("n_gpus"), resolve(own).get("n_gpus")
    trains, mode = default.facts.get("trainer_gpus"), stated.get("rollout_mode")
    numbers = [int(number) for number in (told, whole, trains) if isinstance(number, int)]
    if len(numbers) < 3 or len(default.facts.keys() & set(_OF_ROLES)) > 1 or (mode and mode.value != "server"):
        return None
    cards, shipped, part = numbers
    if cards == shipped or part >= shipped or cards * part % shipped:
        return None
    why = f"the same part of the cards as in {default.script}"
    return Fact("trainer_gpus", cards * part // shipped, "assumed", why=why)


def _bounded_by_rows(stated: Mapping[str, Fact]) -> Collection[str]:
    """The limits that no default sets where a person says how long whole rows are, by no key of the trainer."""
    told = stated.get("max_length")
    return () if told is None or told.key or not told.certain else ("prompt_length", "response_length")


def _unlimited(framework: Framework, fork: Fork | None) -> set[str]:
    """Sizes whose key a fork never reads: what its base would take by default limits nothing there."""
    ignored = set(fork.ignores) - set(fork.facts) if fork else set()
    return {
        key.fact
        for key in framework.keys
        if key.fact and FACTS[key.fact].group == "sizes" and ignored & {key.key, *key.aliases}
    }


def _runs_engine_alone(stated: Mapping[str, Fact]) -> bool:
    told = {id: stated[id].value for id in ("trains", "rollout_mode") if id in stated}
    return told == {"trains": False, "rollout_mode": "server"}


def _why(default: Default, framework: Framework, fork: Fork | None) -> str:
    """What it rests on, or whose default it is: a script's, a fork's where the condition names one, the framework's own."""
    if default.why or default.script:
        return default.why or default.script
    if fork and "framework" in default.when:
        return f"default of {fork.title}"
    return "usual in trainers" if framework.fallback else f"default of {framework.title}"


def _used(default: Default, stated: Mapping[str, Fact], paste: Paste) -> bool:
    """Whether the shipped script is named, or what is pasted looks like a part of it: settings without a model, and no other algorithm."""
    if default.script in paste.text:
        return True
    other = "algo" in stated and stated["algo"].value != default.facts.get("algo")
    return default.excerpt and bool(paste.settings) and not other and not complete(paste)


def _shown(default: Default, paste: Paste) -> bool:
    """Whether as much is pasted as the default asks for, and none of the words that speak against it."""
    if any(word in paste.text for word in default.unless):
        return False
    return (not default.whole or complete(paste)) and (not default.own_script or own_script(paste))


def as_answered(facts: Facts, answer: Fact, paste: Paste) -> Facts:
    """The same run with one fact answered: the defaults that hang on it are others, all else is kept."""
    return by_defaults_again(facts.with_fact(answer), paste)


def by_defaults_again(facts: Facts, paste: Paste) -> Facts:
    """The defaults read again, all else kept."""
    if facts.framework is None:
        return facts
    kept = _told(facts, facts.framework)
    version = kept.get("framework_version")
    number = str(version.value) if version is not None else None
    stated = with_defaults(kept, facts.framework, number, facts.units, paste, facts.fork, facts.untold)
    return replace(facts, stated=stated, values=resolve(stated))


def _told(facts: Facts, framework: Framework) -> dict[str, Fact]:
    """What is read, answered or follows: no default, and nothing that is assumed in the place of one."""
    assumed = {default.why for default in framework.defaults if default.assumed}
    untold = {id for id, fact in facts.stated.items() if fact.origin == "assumed" and fact.why in assumed}
    return {id: fact for id, fact in facts.stated.items() if fact.origin != "default" and id not in untold}


def at_version(facts: Facts, version: str, paste: Paste) -> Facts:
    """The same run in another version of its framework."""
    return read_again(facts, Fact("framework_version", version, "answered"), paste)


def read_again(facts: Facts, answer: Fact, paste: Paste) -> Facts:
    """The same run with a fact answered that its keys hang on: keys and defaults read again, all else kept, the machine too."""
    if facts.framework is None:
        return facts.with_fact(answer)
    kept = _told(facts, facts.framework) | {answer.id: answer}
    answered = {id: fact for id, fact in kept.items() if fact.origin == "answered"}
    told = kept.get("framework_version")
    version = str(told.value) if told is not None else None
    proven = proofs(facts.hits, kept, answered)
    keyed = read_keys(
        paste, facts.framework, version, {**known(proven), **answered}, told is None or told.certain, proven
    )
    kept = {id: fact for id, fact in kept.items() if fact.key not in keyed.dead}
    for id, fact in keyed.stated.items():
        if id in kept and kept[id].key and id != "model" or id not in kept and FACTS[id].group != "machine":
            kept[id] = fact
    stated = with_defaults(kept, facts.framework, version, keyed.units, paste, facts.fork, keyed.untold)
    keys, units = writable(facts.framework, version, stated)
    return replace(facts, stated=stated, values=resolve(stated), keys=keys, units=units, untold=keyed.untold)
