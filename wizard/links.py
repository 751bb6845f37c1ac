"""The address of a diagnosis: facts that lead to the same estimate without the paste."""

from __future__ import annotations

from collections.abc import Mapping

from diagnose.knowledge import Knowledge
from diagnose.pipeline import facts_alone
from diagnose.types import Diagnosis, Facts
from diagnose.vocabulary import FACTS, Value
from wizard import state
from wizard.state import Answers

_MOST_ROUNDS = 6
# taken anew from the limits, so that they come last
_REAL = ("real_prompt_length", "real_response_length")


def link(diagnosis: Diagnosis, knowledge: Knowledge) -> Answers:
    """The certain facts, and each that they alone would not lead to: a version that lines bound, the settings of a script that is named,
    what a traceback or a sentence implies, and what was assumed, which stays an assumption.

    Facts are compared and nothing is estimated, since every page has a link.
    """
    facts = diagnosis.facts
    told = state.certain(diagnosis) | _name_of_model(facts)
    for _ in range(_MOST_ROUNDS):
        missed = _missed(facts, facts_alone(told, knowledge, _assumed(facts, told)), told)
        if not missed:
            break
        told |= missed
    return Answers({id: told[id] for id in FACTS if id in told}, alone=facts.bare, assumed=_assumed(facts, told))


def _assumed(facts: Facts, told: Mapping[str, Value]) -> tuple[str, ...]:
    return tuple(id for id in FACTS if id in told and id in facts.stated and facts.stated[id].origin == "assumed")


def _name_of_model(facts: Facts) -> dict[str, Value]:
    """The model by the name of the catalogue that the paste has: answers of one that thinks are longer than its base's."""
    names = facts.model.aliases if facts.model and facts.certain("model") else ()
    written = str(facts.values.get("model")).lower()
    known = next((name for name in names if name.lower() == written), None)
    return {"model": known} if known else {}


def _missed(facts: Facts, again: Facts, told: Mapping[str, Value]) -> dict[str, Value]:
    """What is another fact, or none, where the answers alone are known, as far as an address may hold it.

    First what defaults hang on, from which most of the rest follows; then what is stated, what is assumed, what is only computed.
    """
    other = [id for id in FACTS if id not in told and id in facts.values and facts.values[id] != again.values.get(id)]
    held = {id: value for id in other if (value := state.public(id, facts)) is not None}
    if not held:
        return {}
    places = {id: _place(id, facts) for id in held}
    return {id: value for id, value in held.items() if places[id] == min(places.values())}


def _place(id: str, facts: Facts) -> int:
    stated = facts.stated.get(id)
    if id == "framework_version":
        return 0
    if stated is None:
        return 4
    if stated.origin == "assumed":
        return 3 if id in _REAL else 2
    defaults = facts.framework.defaults if facts.framework else ()
    return 0 if any(id in default.when for default in defaults) else 1
