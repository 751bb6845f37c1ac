"""The length that an engine is started for where its trainer asks for none: the longest context that the model knows."""

from __future__ import annotations

from diagnose.estimate import behaviours_of
from diagnose.knowledge.records import Framework
from diagnose.types import Fact, Facts

_WHY = "nothing sets it, and the engine takes the longest context that the model knows"


def with_engine_length(facts: Facts, fallback: Framework | None) -> Facts:
    """These facts with it; as they are where the length is told, or the trainer gives the engine that of its rows."""
    model = facts.model
    if model is None or "max_model_len" in facts.values:
        return facts
    tokens = model.context_of(str(facts.values.get("model", model.title)))
    of_model = behaviours_of(facts, fallback).get("engine_length") == "model"
    return facts.with_fact(Fact("max_model_len", tokens, "default", why=_WHY)) if of_model and tokens else facts
