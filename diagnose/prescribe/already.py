"""What is on already: by what is read, by a default, or because it is taken so."""

from __future__ import annotations

from diagnose.batch import longest_row
from diagnose.conditions import alike, holds, version
from diagnose.estimate import behaviours_of
from diagnose.knowledge.records import Lever
from diagnose.prescribe.situation import Situation
from diagnose.types import Fact, Facts, NotAdvised

# What always stays on the host need not be moved there between phases.
_MORE = {"optimizer_offload": "optimizer_on_cpu", "param_offload": "param_on_cpu"}
_OF_PROMPTS = ("prompt_length", "start_length")
_OF_TRAINER = ("logprob", "ref_logprob", "values", "critic", "actor_update")


def on(lever: Lever, situation: Situation) -> NotAdvised | None:
    """It is on already: its own condition says so, a fact that it sets has that value, or the data are as it would have them."""
    fact = _fact_that_is_on(lever, situation)
    if fact is None:
        return _at_longest_row(lever, situation) or _beyond_data(lever, situation)
    stated = situation.facts.stated.get(fact)
    since = _since(stated, situation)
    why = (
        f"On by default since version {since}: set it if yours is older." if since else _where(stated, situation.facts)
    )
    return NotAdvised(lever, "on", why, stated.span if stated else None)


def _at_longest_row(lever: Lever, situation: Situation) -> NotAdvised | None:
    """The length of an engine that nothing sets, where its trainer gives it that of the longest row: none shorter holds one."""
    facts = situation.facts
    of_engine = any(change.fact == "max_model_len" for change in lever.changes[:1])
    if not of_engine or "max_model_len" in facts.values:
        return None
    row = longest_row(facts.values)
    if not row or behaviours_of(facts, situation.fallback).get("engine_length") != "row":
        return None
    return NotAdvised(lever, "on", f"Nothing sets it, and the engine is started for the longest row, {row:,} tokens.")


def _since(stated: Fact | None, situation: Situation) -> str:
    """The version in which a default became what it is, where nobody says which one runs; empty where it was always so."""
    framework = situation.facts.framework
    if stated is None or stated.origin != "default" or framework is None or "framework_version" in situation.values:
        return ""
    if situation.facts.shipped_in(stated.id):
        return ""
    others = [
        one.until
        for one in framework.defaults
        if one.until and one.facts.get(stated.id, stated.value) != stated.value and not one.fork and not one.script
    ]
    own = situation.facts.fork is not None and stated.id in situation.facts.fork.facts
    return "" if own else max(others, key=version, default="")


def _fact_that_is_on(lever: Lever, situation: Situation) -> str | None:
    if lever.on and holds(lever.on, situation.values):
        return next(iter(lever.on))
    sets = [change for change in lever.changes if change.op == "set" and change.to is not None]
    values, keys = situation.facts.values, situation.facts.keys
    done = [change.fact for change in sets if alike(values.get(change.fact), change.to or False)]
    moot = {less for less, more in _MORE.items() if more in done and values.get(more) is True}
    open_still = [
        change.fact for change in sets if change.fact not in {*done, *moot} and change.fact in {**values, **keys}
    ]
    return done[0] if done and not open_still else None


def _where(stated: Fact | None, facts: Facts) -> str:
    if stated is None:
        return "Already so."
    state = "so" if stated.value is False else "on"
    if stated.span is not None:
        key = f"{stated.key} = {stated.written or stated.value}, " if stated.key else ""
        return f"Already {state} ({key}line {stated.span.line})."
    if stated.origin == "assumed":
        return f"Taken as {state}, since {stated.why}: see that it is."
    if file := facts.shipped_in(stated.id):
        return f"Already {state}: {file} as it is shipped."
    return (
        f"Already {state}, by your answer."
        if stated.origin == "answered"
        else f"Already {state}: {stated.why or stated.origin}."
    )


def _beyond_data(lever: Lever, situation: Situation) -> NotAdvised | None:
    """It scales images to, or keeps or cuts prompts at, a limit that the largest of the data set does not reach, in a pass without padding.

    A log tells the longest of some steps alone.
    """
    if (why := _smaller_images(lever, situation)) is not None:
        return NotAdvised(lever, "no_gain", why)
    data, limit = situation.facts.stated.get("longest_prompt_length"), situation.facts.number("prompt_length")
    if data is None or data.origin != "derived" or not limit:
        return None
    longest = float(data.value)
    if "long_rows_dropped" in lever.on and longest <= limit:
        return NotAdvised(lever, "no_gain", f"No prompt of the data is longer than {longest:,.0f} tokens.")
    cuts = bool(lever.changes) and all(change.fact in _OF_PROMPTS for change in lever.changes)
    if not cuts or longest > limit / 2 or not _unpadded(situation):
        return None
    why = f"No prompt of the data is longer than {longest:,.0f} tokens, and padding is removed: half the limit cuts nothing."
    return NotAdvised(lever, "no_gain", why)


def _smaller_images(lever: Lever, situation: Situation) -> str | None:
    """Why images are not scaled in a trainer's pass: the largest of the data have no more pixels than half the limit."""
    data, limit = situation.facts.stated.get("largest_image_pixels"), situation.facts.number("max_pixels")
    scales = bool(lever.changes) and all(change.fact == "max_pixels" for change in lever.changes)
    if not scales or data is None or data.origin != "derived" or not limit or situation.phase not in _OF_TRAINER:
        return None
    largest = float(data.value)
    return (
        f"No image of the data has more than {largest:,.0f} pixels: half the limit scales none."
        if largest <= limit / 2
        else None
    )


def _unpadded(situation: Situation) -> bool:
    """Whether the failing pass takes rows as long as they are; an engine plans for the limits."""
    values, phase = situation.values, situation.phase
    own = values.get("critic_remove_padding") if phase in ("critic", "values") else None
    return phase in _OF_TRAINER and (values.get("remove_padding") if own is None else own) is True
