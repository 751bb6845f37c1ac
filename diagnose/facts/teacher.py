"""The teacher of a distillation: a second model, whose size its own name tells."""

from __future__ import annotations

from collections.abc import Mapping

from diagnose.facts.model_names import Name, find_model, params_of
from diagnose.knowledge.hardware import Model
from diagnose.types import Fact


def with_teacher(stated: dict[str, Fact], models: Mapping[str, Model]) -> dict[str, Fact]:
    """The facts with the size of the named teacher: as its authors publish it, else as the name says; without it where neither does.

    Also whether it is the very model that is trained, as it was before.
    """
    named, trained = stated.get("teacher"), stated.get("model")
    if named is None or "teacher_b" in stated:
        return stated
    name = str(named.value).rstrip("/").rsplit("/", 1)[-1]
    if trained is not None and "teacher_is_base" not in stated:
        same = str(trained.value).lower() == name.lower()
        stated = {**stated, "teacher_is_base": Fact("teacher_is_base", same, "derived", why=f"the teacher is {name}")}
    record = models.get(find_model(name, tuple(models.values())))
    size = record.published / 1e9 if record else params_of(Name(name, named.span), None)
    if size is None:
        return stated
    return {**stated, "teacher_b": Fact("teacher_b", size, "derived", why=f"the size of {name}")}
