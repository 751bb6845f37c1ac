"""The type of a frozen base that a default alone makes fp32, where no card could hold it so."""

from __future__ import annotations

from dataclasses import replace

from diagnose.batch import resolve
from diagnose.estimate import plan_of
from diagnose.facts.complete import complete
from diagnose.knowledge.records import Framework
from diagnose.outlived import went_through
from diagnose.types import Fact, Facts, Paste
from diagnose.vocabulary import PHASES

_BEFORE_WEIGHTS_STAND = (None, "load", "init")


def with_base_type(facts: Facts, paste: Paste, fallback: Framework | None) -> Facts:
    """These facts with a base in 16 bits where the run came past loading; without the default where the script may ask for 16 bits.

    A whole command or script that failed before, or not yet, is taken at its word: its base is loaded as the default says.
    """
    told = facts.stated.get("precision")
    if told is None or told.origin != "default" or facts.values.get("full_or_lora") == "full":
        return facts
    plan = plan_of(facts, fallback)
    if plan is None or "precision" not in plan.missing:
        return facts
    phase = facts.values.get("phase")
    if phase not in _BEFORE_WEIGHTS_STAND or went_through(facts):
        came = "steps went through" if went_through(facts) else f"the run came to the {PHASES[str(phase)]}"
        why = f"in fp32, which is the default, its weights alone would be more than the cards have, and {came}"
        return facts.with_fact(Fact("precision", "bf16", "assumed", why=why))
    if phase == "load" or complete(paste):
        return facts
    stated = {id: fact for id, fact in facts.stated.items() if id != "precision"}
    return replace(facts, stated=stated, values=resolve(stated))
