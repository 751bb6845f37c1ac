"""A model that nobody knows: what stands in for it is said, and which may be meant."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report import to_text
from diagnose.words import stand_in

RUN = "TRL GRPO, all parameters, {} on 1 x H100 80G: CUDA out of memory in the backward"


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("Qwen3-2B", "This model is not in the catalogue: Qwen3-2B. It counts as a dense model of 2B"),
        ("Qwen3-2B", "The catalogue has Qwen3-VL-2B, Qwen3.5-2B and Qwen3-1.7B"),
        ("a 7B model", "Only the size of the model is known. It counts as a dense model of 7B"),
        ("SomeLab-Chat-60B-A4B", "It counts as a sparse model of 60B, 4B active"),
    ],
)
def test_a_stand_in_is_said(model: str, said: str) -> None:
    assert said in to_text(diagnose(RUN.format(model), {}, current(), ()))


@pytest.mark.parametrize("model", ["Qwen3-1.7B", "a model"])
def test_nothing_is_said_where_none_stands_in(model: str) -> None:
    assert stand_in.told(diagnose(RUN.format(model), {}, current(), ())) == ""


def test_its_band_is_wider_than_that_of_the_model_that_it_stands_for() -> None:
    known, stood_for = (diagnose(RUN.format(model), {}, current(), ()) for model in ("Qwen2.5-7B", "a 7B model"))
    ours, theirs = (one.estimate.gpu.phase("actor_update") for one in (known, stood_for))
    assert theirs.bytes == ours.bytes
    assert theirs.low < ours.low
    assert theirs.high > ours.high
