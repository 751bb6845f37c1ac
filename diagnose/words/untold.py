"""What stands in a figure although nobody told it: a trainer's defaults, and its newest version."""

from __future__ import annotations

from diagnose.types import Diagnosis, Facts, Turn
from diagnose.vocabulary import FACTS
from diagnose.words.figures import gib

_VERDICTS = {"out": "which runs out", "close": "which is too close to call"}


def untold(diagnosis: Diagnosis) -> str:
    """Both in sentences; empty where neither stands in the figure."""
    return " ".join(said for said in (_by_default(diagnosis.facts), _by_version(diagnosis)) if said)


def _by_version(diagnosis: Diagnosis) -> str:
    if (turn := turned_by_version(diagnosis)) is None:
        return ""
    trainer, verdict = diagnosis.facts.trainer, _VERDICTS[turn.verdict]
    return f"The version of {trainer} is not told and taken as the newest: with {turn.answer} it would be {gib(turn.bytes)}, {verdict}."


def turned_by_version(diagnosis: Diagnosis) -> Turn | None:
    """The release by which a run that fits runs out, or comes close to it, where nothing tells the version."""
    asked = (one for one in diagnosis.questions if one.question.fact == "framework_version")
    turn = next((one.turn for one in asked), None)
    fits = diagnosis.verdict == "fits" and "framework_version" not in diagnosis.facts.values
    return turn if turn and fits and turn.verdict in ("out", "close") else None


def _by_default(facts: Facts) -> str:
    if not on_defaults(facts):
        return ""
    return f"No setting of the run was read: {facts.trainer}’s defaults stand for what nobody told."


def on_defaults(facts: Facts) -> bool:
    """Whether a trainer's defaults stand for all settings, since none was read, by key or in words: nobody runs by them alone."""
    stand = any(fact.origin == "default" for fact in facts.stated.values())
    told = any(fact.origin == "read" and FACTS[fact.id].group in ("sizes", "memory") for fact in facts.stated.values())
    return stand and not told and bool(facts.trainer) and not facts.configured and not facts.serves
