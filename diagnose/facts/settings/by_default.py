"""What nobody says: defaults of the framework and its version, and the versions of all packages."""

from __future__ import annotations

import re
from dataclasses import replace

from diagnose.facts.settings.complete import complete
from diagnose.facts.settings.defaults import with_defaults
from diagnose.facts.settings.keys import KeyFacts
from diagnose.facts.settings.senses import of_one_sense
from diagnose.facts.settings.writable import writable
from diagnose.facts.trainer.implied import implied
from diagnose.facts.trainer.packages import with_versions
from diagnose.facts.trainer.shipped import without_names
from diagnose.knowledge.records import Fork, Framework
from diagnose.types import Fact, Paste
from diagnose.vocabulary import is_number

# a critic, or the algorithm that has one; a folder of that name holds all algorithms, and figures of rewards and a wait for a critic
# stand in every run of some trainers (verl v0.4.1 trainer/ppo/metric_utils.py: compute_data_metrics)
_OF_CRITIC = re.compile(
    r"critic(?!_warmup|/(?:score|rewards?|advantages|returns|kl)(?![a-z]))|value[_ ]model|\bgae\b|(?<![\w/.])PPO(?![\w/.])|ppo_trainer/",
    re.I | re.A,
)


def by_default(
    stated: dict[str, Fact],
    framework: Framework | None,
    version: Fact | None,
    keyed: KeyFacts,
    paste: Paste,
    fork: Fork | None,
) -> tuple[dict[str, Fact], dict[str, Fact], KeyFacts]:
    """What nobody says follows from the framework and its version; then the versions of all packages, which outrank defaults.

    With the keys that a lever may write once all that is known: how a run is sharded is often a default.
    """
    stated = without_names(stated, framework, paste)
    facts = _with_defaults(stated, framework, version, keyed, paste, fork)
    told, versions = with_versions(facts, paste, framework, fork)
    if "engine_version" in told.keys() - facts.keys():  # a default may hang on it
        stated = {**stated, "engine_version": told["engine_version"]}
        told, versions = with_versions(
            _with_defaults(stated, framework, version, keyed, paste, fork), paste, framework, fork
        )
    stated = of_one_sense(told, framework)
    if framework is not None:
        keys, units = writable(framework, str(version.value) if version else None, stated)
        keyed = replace(keyed, keys=keys, units=units)
    return stated, versions, keyed


def _with_defaults(
    stated: dict[str, Fact],
    framework: Framework | None,
    version: Fact | None,
    keyed: KeyFacts,
    paste: Paste,
    fork: Fork | None,
) -> dict[str, Fact]:
    """Defaults; those that a complete command makes certain count as derived."""
    if framework is None:
        return stated
    number, whole_run = str(version.value) if version else None, complete(paste)
    if _told_in_words(stated.get("max_pixels")):
        others = {id: fact for id, fact in stated.items() if id != "max_pixels"}
        limits = with_defaults(others, framework, number, keyed.units, paste, fork, keyed.untold)
        stated = others if _is_scaled_below(stated["max_pixels"], limits.get("max_pixels")) else stated
    facts = with_defaults(stated, framework, number, keyed.units, paste, fork, keyed.untold)
    own = "algo" in facts and facts["algo"].why == f"default of {framework.title}"
    of_critic = not (own and _may_sample_groups(framework)) or any(
        _OF_CRITIC.search(line.words) for line in paste.lines
    )
    if told := {fact.id: fact for fact in implied(facts, whole_run, of_critic, framework.critic_rare)}:
        facts = with_defaults({**stated, **told}, framework, number, keyed.units, paste, fork, keyed.untold)
    if framework.fallback or not whole_run:
        return facts
    critic = any(setting.key.split(".")[0] == "critic" for setting in paste.settings)
    for id, certain in (("full_or_lora", facts.get("full_or_lora")), ("algo", facts.get("algo") if critic else None)):
        if certain is not None and certain.origin == "default" and certain.value in ("full", "ppo"):
            facts[id] = Fact(id, certain.value, "derived", why=f"the command sets nothing else ({certain.why})")
    return facts


def _told_in_words(fact: Fact | None) -> bool:
    return fact is not None and fact.origin == "read" and not fact.key


def _is_scaled_below(told: Fact, limit: Fact | None) -> bool:
    """Whether the trainer scales images by default to fewer pixels than a sentence tells that they have."""
    return limit is not None and is_number(limit.value) and is_number(told.value) and limit.value < told.value


def _may_sample_groups(framework: Framework) -> bool:
    """Whether a key of the trainer chooses the algorithm, GRPO among others: no name of a script or a recipe tells it."""
    words = (given for key in framework.keys for given in key.values.values())
    return not framework.fallback and any(given.get("algo") == "grpo" for given in words)
