"""The teacher of a distillation: a second model, whose size its own name tells."""

from __future__ import annotations

from collections.abc import Mapping

from diagnose.facts.model_names import Name, find_model, params_of
from diagnose.knowledge.hardware import Model
from diagnose.types import Fact


def with_teacher(stated: dict[str, Fact], models: Mapping[str, Model]) -> dict[str, Fact]:
    """The facts with the size of the named teacher: as its authors publish it, else as the name says; without it where neither does."""
    named = stated.get("teacher")
    if named is None or "teacher_b" in stated:
        return stated
    name = str(named.value).rstrip("/").rsplit("/", 1)[-1]
    record = models.get(find_model(name, tuple(models.values())))
    size = record.published / 1e9 if record else params_of(Name(name, named.span), None)
    if size is None:
        return stated
    return {**stated, "teacher_b": Fact("teacher_b", size, "derived", why=f"the size of {name}")}
