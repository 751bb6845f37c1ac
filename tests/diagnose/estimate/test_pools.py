"""One pool or one phase alone is what the whole estimate says of it, and what a cheap second look relies on holds."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.estimate import estimate, estimate_pool, plan_of
from diagnose.knowledge import current
from diagnose.types import Estimate, Facts


@pytest.mark.parametrize("pool", ["gpu", "host"])
def test_a_pool_alone_is_the_pool_of_the_whole_estimate(facts: Any, pool: Any) -> None:
    assert estimate_pool(plan_of(facts(), None), pool).pool(pool) == estimate(facts()).pool(pool)


def test_a_phase_alone_is_the_phase_of_the_whole_estimate(facts: Any) -> None:
    alone = estimate_pool(plan_of(facts(), None), "gpu", phase="actor_update").gpu
    whole = estimate(facts()).gpu
    assert alone is not None
    assert whole is not None
    assert alone.phases == (whole.phase("actor_update"),)


def test_a_phase_that_the_run_does_not_have_gives_the_whole_pool(facts: Any) -> None:
    assert estimate_pool(plan_of(facts(), None), "gpu", phase="critic").gpu == estimate(facts()).gpu


def test_nothing_is_estimated_of_nothing() -> None:
    assert estimate_pool(plan_of(Facts(), None), "gpu") == Estimate()


def test_no_condition_of_a_framework_hangs_on_the_real_response_length() -> None:
    """``turning_length`` tries lengths on one plan, whose residents and behaviours then stay as they are."""
    hanging = [
        (slug, entry.when)
        for slug, framework in current().frameworks.items()
        for entry in (*framework.residents, *framework.behaviours)
        if "real_response_length" in entry.when
    ]
    assert hanging == []
