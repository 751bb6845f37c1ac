"""Assumed lengths, and the length at which a phase runs out."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.estimate import assumed_lengths, estimate, turning_length
from diagnose.estimate.plan import plan_of
from diagnose.estimate.rows import real_row, row_limit
from diagnose.estimate.term import Band
from diagnose.types import Fact, Facts
from diagnose.units import from_gib


def test_nothing_is_assumed_where_lengths_are_stated(facts: Any) -> None:
    assert assumed_lengths(facts(real_prompt_length=100, real_response_length=300)) == ()


def test_nothing_is_assumed_without_a_limit(facts: Any) -> None:
    assert assumed_lengths(facts(prompt_length=None, response_length=None)) == ()


def test_nothing_is_assumed_where_rows_are_padded_to_their_limit(facts: Any) -> None:
    assert assumed_lengths(facts(remove_padding=False)) == ()


def test_assumed_lengths_are_marked_and_explained(facts: Any) -> None:
    found = assumed_lengths(facts())
    assert [fact.id for fact in found] == ["real_prompt_length", "real_response_length"]
    assert all(fact.origin == "assumed" and fact.why for fact in found)


def test_adding_the_assumed_lengths_does_not_change_the_estimate(facts: Any) -> None:
    run = shown = facts()
    for fact in assumed_lengths(run):
        shown = shown.with_fact(fact)
    assert estimate(shown) == estimate(run)


OFFLINE = {
    "algo": "sft",
    "prompt_length": None,
    "response_length": None,
    "max_length": 2048,
    "n_gpus": 1,
    "trainer_gpus": 1,
    "micro_batch": 2,
    "gradient_accumulation": 4,
}


def _row(run: Facts) -> Band:
    plan = plan_of(run, None)
    assert plan is not None
    return real_row(plan, 1.0, 2)[1]


def test_a_run_of_few_steps_takes_the_longest_of_the_rows_that_they_meet(facts: Any) -> None:
    """480 draws of the usual mean under this limit, 445 tokens, with 0.53 of it as deviation: 445 × e^(-0.124 + 0.497 × 2.87)."""
    usual, few, many = (_row(facts(**OFFLINE, max_steps=steps)) for steps in (None, 60, 10**6))
    assert few.mid == pytest.approx(1637, rel=0.01)
    assert few.mid < usual.mid
    assert few.low <= few.mid < few.high == usual.high == 2048
    assert many == usual


def test_steps_alone_do_not_tell_how_many_rows_are_met(facts: Any) -> None:
    assert _row(facts(**{**OFFLINE, "gradient_accumulation": None}, max_steps=60)) == _row(facts(**OFFLINE))


def test_more_cards_meet_more_rows(facts: Any) -> None:
    one, four = (_row(facts(**{**OFFLINE, "n_gpus": n, "trainer_gpus": n}, max_steps=20)) for n in (1, 4))
    assert one.mid < four.mid


def test_of_a_known_set_the_band_goes_on_to_its_longest_row(facts: Any) -> None:
    known = {**OFFLINE, "real_response_length": 170, "longest_response_length": 1028}
    met, whole = (_row(facts(**known, longest_met_length=longest)) for longest in (700, None))
    assert (met.low, met.mid, met.high) == (170, 700, 1028)
    assert whole.mid == 1028


@pytest.mark.parametrize(
    ("response", "told", "limits"),
    [(3072, None, (1024, 3072)), (4096, None, (0, 4096)), (9000, None, (0, 4096)), (4096, 300, (300, 3796))],
)
def test_prompt_and_answer_are_together_no_longer_than_the_limit_of_the_row(
    facts: Any, response: int, told: int | None, limits: tuple[int, int]
) -> None:
    """NeMo-RL's recipes let an answer be as long as the whole row (examples/configs/grpo_math_1B.yaml)."""
    run = facts(prompt_length=None, max_length=4096, response_length=response, real_prompt_length=told)
    plan = plan_of(run, None)
    assert plan is not None
    assert row_limit(plan) == limits
    assert sum(side.high for side in real_row(plan, 1.0)) <= 4096


@pytest.mark.parametrize(
    ("prompt", "response", "longest", "limits"),
    [
        (16383, 12000, 16384, (4384, 12000)),
        (1024, 3072, 4096, (1024, 3072)),
        (1024, 3072, 2048, (1024, 3072)),
    ],
)
def test_a_prompt_that_may_fill_the_row_has_no_limit_of_its_own(
    facts: Any, prompt: int, response: int, longest: int, limits: tuple[int, int]
) -> None:
    """slime sets the longest prompt to one token less than the row (slime v0.3.1 slime/utils/arguments.py: slime_validate_args)."""
    plan = plan_of(facts(prompt_length=prompt, response_length=response, max_length=longest), None)
    assert plan is not None
    assert row_limit(plan) == limits


def test_there_is_no_turning_length_when_the_limit_is_never_reached(facts: Any) -> None:
    assert turning_length(facts(), from_gib(10_000), "actor_update") is None


def test_there_is_no_turning_length_of_a_phase_that_the_run_does_not_have(facts: Any) -> None:
    assert turning_length(facts(), 1, "critic") is None


def test_a_run_that_never_fits_turns_at_the_first_token(facts: Any) -> None:
    assert turning_length(facts(), 1, "actor_update") == 1


def test_the_turning_length_is_where_the_phase_crosses_the_limit(facts: Any) -> None:
    run, limit = facts(), from_gib(60)
    length = turning_length(run, limit, "actor_update")
    assert length is not None
    assert 1 < length < 3072
    apart = 3072 // 64  # told to 1/64 of the limit
    below, above = (
        _update(run.with_fact(Fact("real_response_length", n, "answered"))) for n in (length - apart, length)
    )
    assert below <= limit < above


def _update(facts: Any) -> int:
    gpu = estimate(facts).gpu
    assert gpu is not None
    phase = gpu.phase("actor_update")
    assert phase is not None
    return phase.bytes
