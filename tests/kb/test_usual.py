"""The default of a fact as pages of the catalogue tell it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.knowledge import current
from diagnose.knowledge.records import Default
from kb.catalogue import lever_keys
from kb.usual import Usual, usual


def default(value: int, **more: str) -> Default:
    return Default(facts={"n_gpus": value}, **more)  # type: ignore[arg-type]


def of(*defaults: Default) -> Usual | None:
    return usual(replace(current().frameworks["verl"], defaults=defaults), "n_gpus")


@pytest.mark.parametrize(
    ("defaults", "told"),
    [
        ([], None),
        ([default(1)], Usual(1)),
        ([default(2), default(1, until="0.7")], Usual(2, since="0.7")),
        ([default(1), default(2, since="0.7")], Usual(2, since="0.7")),
        ([default(2), default(1, since="0.6", until="0.9")], Usual(2, since="0.9")),
        ([default(3), default(2, until="0.10"), default(1, until="0.9")], Usual(3, since="0.10")),
        ([default(2), default(2, until="0.9"), default(1, until="0.3")], Usual(2, since="0.3")),
        ([default(2, since="0.7")], Usual(2)),
        ([default(1, until="0.3.2")], Usual(1, until="0.3.2")),
        ([default(1, until="0.3"), default(2, until="0.10")], Usual(2, until="0.10")),
        ([default(1), default(2, script="run.sh")], Usual(1)),
        ([default(1), default(2, fork="of-somebody")], Usual(1)),
    ],
)
def test_the_newest_default_is_told_and_since_when(defaults: list[Default], told: Usual | None) -> None:
    assert of(*defaults) == told


@pytest.mark.parametrize(
    ("lever", "framework", "says"),
    [
        ("padding.remove", "verl", "on since 0.7"),
        ("rollout.enforce_eager.on", "verl", "off since 0.6"),
        ("checkpointing.activation.on", "trl", "on since 0.22"),
    ],
)
def test_a_lever_shows_the_default_in_force(lever: str, framework: str, says: str) -> None:
    rows = lever_keys(current().levers[lever], current())
    assert says in {row.default for row in rows if row.framework.slug == framework}
