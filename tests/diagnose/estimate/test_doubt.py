"""Low and high of a phase: which doubts add up, which cancel, and what the allocator may not hide."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnose.estimate import estimate
from diagnose.estimate.doubt import bounds
from diagnose.estimate.term import Band, make_term
from diagnose.types import Term

TOKENS = ("response_length",)
NONE = make_term("allocator_slack", "slack", "fixed", 0, "", "")


def _engine(id: str, low: float, mid: float, high: float, moved_by: tuple[str, ...] = ()) -> Term:
    """A term of the engine, which no formula of the trainer casts doubt on."""
    return make_term(id, id, "engine", Band(low, mid, high), "", "", moved_by)


def test_terms_that_hang_on_the_same_lengths_add_up() -> None:
    terms = [_engine(id, 70, 100, 130, TOKENS) for id in ("logits", "checkpoints")]
    assert bounds(terms, NONE, 0, 0, None) == (140, 260)


def test_terms_of_different_causes_add_up_as_squares() -> None:
    terms = [_engine("graphs", 70, 100, 130), _engine("pool", 60, 100, 140)]
    assert bounds(terms, NONE, 0, 0, None) == (150, 250)


def test_what_works_is_less_sure_than_what_is_held() -> None:
    work, held = (
        bounds([make_term("one", "one", family, 1000, "", "")], NONE, 0, 0, None) for family in ("work", "held")
    )
    assert work[1] - 1000 > 3 * (held[1] - 1000) > 0


def test_weights_on_their_way_in_are_as_sure_as_those_that_stay() -> None:
    arriving, staying, work = (
        bounds([make_term(id, id, family, 1000, "", "")], NONE, 0, 0, None)
        for id, family in (("load_transient", "work"), ("actor_weights", "held"), ("logits", "work"))
    )
    assert arriving == staying
    assert arriving[1] < work[1]


def test_the_formulas_are_twice_as_unsure_for_a_trainer_that_no_record_tells_of(facts: Any, record: Any) -> None:
    terms = [make_term("one", "one", "work", 1000, "", "")]
    told, untold = (bounds(terms, NONE, 0, 0, None, recorded) for recorded in (True, False))
    assert untold[1] - 1000 == 2 * (told[1] - 1000)
    known, unknown = (estimate(facts(replace(record(), fallback=fallback))).gpu for fallback in (False, True))
    assert unknown.peak.bytes == known.peak.bytes
    assert unknown.peak.bounds[0] < known.peak.bounds[0]


def test_a_cache_fills_a_card_and_never_overfills_it() -> None:
    trainer = make_term("one", "one", "held", 800, "", "")
    cached = make_term("allocator_slack", "slack", "fixed", 128, "", "")
    assert bounds([trainer], cached, 320, 80, 1000)[1] == 1000
    assert bounds([trainer], cached, 320, 80, None)[1] > 1000


def test_pieces_that_cannot_be_handed_back_may_overfill_it() -> None:
    trainer, none_left = make_term("one", "one", "held", 940, "", ""), NONE
    assert bounds([trainer], none_left, 376, 94, 1000)[1] > 1000
    assert bounds([trainer], none_left, 376, 19, 1000)[1] == 1000


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(*(st.integers(0, 10**11),) * 3, st.booleans(), st.sampled_from(["held", "work", "engine"])),
        max_size=6,
    ),
    st.sampled_from([None, 24 * 10**9, 80 * 10**9]),
)
def test_the_band_holds_the_middle_and_is_no_wider_than_everything_at_its_worst(
    sizes: list[tuple[int, int, int, bool, str]], capacity: int | None
) -> None:
    terms = [
        make_term(str(i), "", family, Band(*sorted(three)), "", "", TOKENS if same else ())
        for i, (*three, same, family) in enumerate(sizes)
    ]
    middle = sum(term.bytes for term in terms)
    low, high = bounds(terms, NONE, 0.4 * middle, 0.1 * middle, capacity)
    assert 0 <= low <= middle <= high
    assert high <= sum(term.high for term in terms) + math.ceil(0.6 * middle) + 1


@pytest.mark.parametrize("micro_batch", [1, 4, 16])
def test_a_phase_has_the_band_and_its_middle_inside(facts: Any, micro_batch: int) -> None:
    for phase in estimate(facts(micro_batch=micro_batch)).gpu.phases:
        assert phase.low <= phase.bytes <= phase.high
