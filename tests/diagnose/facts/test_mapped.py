"""Cards that are given to roles by their numbers: the engine's place, and how many all are."""

from __future__ import annotations

import pytest

from diagnose.facts.roles.mapped import engine_place, mapped_cards, role_places
from diagnose.ingest import read

ROLES = "actor_train:\n  device_mapping: {train}\nactor_infer:\n  device_mapping: {infer}\n"


@pytest.mark.parametrize("infer", ["${cards}", "list(range(num_gpus))", "null"])
def test_cards_that_nobody_can_count_say_nothing(infer: str) -> None:
    paste = read(ROLES.format(train="list(range(0,8))", infer=infer))
    assert engine_place(paste) is None
    assert mapped_cards(paste) == {}


@pytest.mark.parametrize(
    ("train", "infer", "place", "cards"),
    [
        ("list(range(0,8))", "list(range(0,8))", "colocated", 8),
        ("list(range(0,4))", "list(range(0,8))", "colocated", 8),
        ("list(range(0,4))", "list(range(4,8))", "server", 8),
        ("list(range(0,8)) + list(range(16,24))", "list(range(8,16))", "server", 24),
        ('"[1]"', '"[0]"', "server", 2),
    ],
)
def test_the_engine_shares_cards_where_its_numbers_are_the_trainers(
    train: str, infer: str, place: str, cards: int
) -> None:
    paste = read(ROLES.format(train=train, infer=infer))
    fact = engine_place(paste)
    assert fact is not None
    assert fact.value == place
    assert mapped_cards(paste)["n_gpus"].value == cards


@pytest.mark.parametrize(
    ("critic", "told"),
    [
        ("list(range(0,8))", {"critic_place": "actor"}),
        ("list(range(12,16))", {"critic_place": "own", "critic_gpus": 4}),
        ("list(range(8,12))", {}),  # with the engine: no fact says so
        ("${cards}", {}),
    ],
)
def test_a_role_with_cards_of_its_own_is_told_with_their_number(critic: str, told: dict[str, object]) -> None:
    roles = ROLES.format(train="list(range(0,8))", infer="list(range(8,12))")
    paste = read(f"{roles}critic:\n  device_mapping: {critic}\n")
    assert {fact.id: fact.value for fact in role_places(paste)} == told


def test_only_beside_a_trainer_is_a_role_placed() -> None:
    assert list(role_places(read("critic:\n  device_mapping: list(range(0,4))\n"))) == []
