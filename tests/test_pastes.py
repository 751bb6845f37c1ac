"""Pastes of our own, written after public threads: one folder each, with what the text makes certain. A new one is a new folder."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from diagnose.conditions import holds
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.vocabulary import PHASES

PASTES = Path(__file__).parent / "pastes"


def folders():
    return sorted(path.name for path in PASTES.iterdir())


def read(name):
    text = (PASTES / name / "paste.txt").read_text(encoding="utf-8")
    return text, tomllib.loads((PASTES / name / "expected.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=folders())
def one(request):
    text, expected = read(request.param)
    knowledge = current()
    return diagnose(text, {}, knowledge, tuple(knowledge.cases.values())), expected


def test_every_fact_that_the_text_makes_certain_is_read(one):
    found, expected = one
    assert {id: found.facts.values.get(id) for id in expected["facts"]} == pytest.approx(expected["facts"])


def test_no_phase_is_claimed_that_the_text_does_not_settle(one):
    found, expected = one
    assert found.phase == expected["facts"].get("phase")
    assert found.phase is None or found.phase in PHASES


def test_the_own_case_comes_first(one):
    found, expected = one
    assert found.matches[0].case.slug == expected["case"]


def test_the_failing_pool_is_named_and_every_lever_acts_on_it(one):
    found, expected = one
    assert found.pool == expected["pool"]
    assert found.prescriptions
    assert all(expected["pool"] in given.lever.pools for given in found.prescriptions)


def test_nothing_is_prescribed_that_the_command_already_has(one):
    found, _ = one
    for given in found.prescriptions:
        assert not (given.lever.on and holds(given.lever.on, found.facts.values)), given.lever.slug
        assert all(change.before != change.after for change in given.changes if change.key), given.lever.slug


def test_the_change_that_worked_is_among_the_first_advice(one):
    found, expected = one
    if "worked" in expected:
        changes = [
            (change.key, change.before, change.after) for given in found.prescriptions[:3] for change in given.changes
        ]
        assert tuple(expected["worked"]) in changes
