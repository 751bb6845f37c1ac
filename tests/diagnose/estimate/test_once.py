"""What is worked out of a plan is kept with that plan alone."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from diagnose.estimate import plan_of
from diagnose.estimate.once import once
from diagnose.estimate.plan import Plan
from diagnose.types import Facts

asked: list[object] = []


@once
def _tp(plan: Plan) -> object:
    asked.append("tp")
    return plan.values.get("tp")


@once
def _times(plan: Plan, number: int) -> int:
    asked.append(number)
    return number * plan.whole("tp")


@pytest.fixture
def plan(facts: Callable[..., Facts]) -> Plan:
    asked.clear()
    plan = plan_of(facts(), None)
    assert plan is not None
    return plan


def test_another_plan_is_asked_anew(plan: Plan) -> None:
    other = replace(plan, values={**plan.values, "tp": 2})
    assert (_tp(plan), _tp(other), _times(other, 3)) == (None, 2, 6)


def test_it_is_worked_out_once_where_nothing_comes_of_it_too(plan: Plan) -> None:
    assert _tp(plan) is _tp(plan) is None
    assert asked == ["tp"]


def test_what_else_is_given_counts(plan: Plan) -> None:
    assert [_times(plan, number) for number in (3, 5, 3)] == [3, 5, 3]
    assert asked == [3, 5]
