"""What a rollout engine prints of its own start: its ``dtype`` and lengths are not the trainer's, whose keys are spelled alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from diagnose.facts.settings.spelling import normal, places
from diagnose.knowledge.records import Framework
from diagnose.types import Hit, Paste, Setting
from diagnose.vocabulary import FACTS

_TRAINERS = ("run", "sizes", "memory")
# which the engine has from the run
_SHARED = ("model",)


def of_engine_alone(paste: Paste, hits: Sequence[Hit], framework: Framework) -> Paste:
    """The paste without the settings of such a line that the framework's keys would take for the trainer's."""
    lines = {hit.span.line for hit in hits if _of_engine(hit)}
    if not lines:
        return paste
    spelled = places(framework)[0]

    def trainers(one: Setting) -> bool:
        keys = [framework.keys[place] for place in spelled.get(normal(one.key), ())]
        facts = {id for key in keys for id in (key.fact, *(id for given in key.values.values() for id in given)) if id}
        return bool(facts) and all(id not in _SHARED and FACTS[id].group in _TRAINERS for id in facts)

    kept = (one for one in paste.settings if one.span.line not in lines or one.command >= 0 or not trainers(one))
    return replace(paste, settings=tuple(kept))


def _of_engine(hit: Hit) -> bool:
    told = {capture.fact for capture in hit.signature.captures.values()}
    return "rollout_engine" in hit.signature.gives and "engine_version" in told
