"""Models beside the one that is trained, whose sizes their own names tell: a distillation's teacher, a critic, a reward model."""

from __future__ import annotations

from diagnose.facts.models.model_names import Name, find_model, params_of
from diagnose.knowledge import Knowledge
from diagnose.types import Fact


def with_sizes(stated: dict[str, Fact], knowledge: Knowledge) -> dict[str, Fact]:
    """The facts with the sizes of all models that are named beside the one that is trained."""
    return _with_roles(_with_teacher(stated, knowledge), knowledge)


def _with_teacher(stated: dict[str, Fact], knowledge: Knowledge) -> dict[str, Fact]:
    """The facts with the size of the named teacher: as its authors publish it, else as the name says; without it where neither does.

    Also whether it is the very model that is trained, as it was before.
    """
    named, trained = stated.get("teacher"), stated.get("model")
    if named is None or "teacher_b" in stated:
        return stated
    name = _last_part(named)
    if trained is not None and "teacher_is_base" not in stated:
        same = str(trained.value).lower() == name.lower()
        stated = {**stated, "teacher_is_base": Fact("teacher_is_base", same, "derived", why=f"the teacher is {name}")}
    return _with_size(stated, named, "teacher_b", knowledge)


def _with_roles(stated: dict[str, Fact], knowledge: Knowledge) -> dict[str, Fact]:
    """The facts with the sizes of a critic and a reward model that are named; several reward models stand under no single name."""
    for id, size in (("critic_model", "critic_b"), ("reward_model", "reward_b")):
        named = stated.get(id)
        if named is not None and size not in stated and "," not in str(named.value):
            stated = _with_size(stated, named, size, knowledge)
    return stated


def _with_size(stated: dict[str, Fact], named: Fact, id: str, knowledge: Knowledge) -> dict[str, Fact]:
    """The facts with the size that a name tells, in billions; as they are where it tells none."""
    name = _last_part(named)
    record = knowledge.models.get(find_model(name, knowledge.catalogue))
    size = record.published / 1e9 if record else params_of(Name(name, named.span), None)
    return stated if size is None else {**stated, id: Fact(id, size, "derived", why=f"the size of {name}")}


def _last_part(named: Fact) -> str:
    """The model's name without the organisation or the folder before it."""
    return str(named.value).rstrip("/").rsplit("/", 1)[-1]
