"""Ranks that share a sequence have whole heads inside the attention: verl’s and DeepSpeed’s Ulysses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diagnose.estimate import estimate
from diagnose.estimate.layer import Widths, attention_bytes_per_token, layer_bytes_per_token
from diagnose.types import Facts
from tests.diagnose.estimate.conftest import QWEN_7B, framework

GROUPED = Widths(hidden=3584, mlp=18944, keys=512, heads=28, gated=True, queries=3584)
SHARED = framework(sequence_ranks="share_heads")
RUN = {"gradient_checkpointing": False, "model": replace(QWEN_7B, vocab=1000)}


def _kept(run: Facts) -> int:
    gpu = estimate(run).gpu
    assert gpu is not None
    update = gpu.phase("actor_update")
    assert update is not None
    return next(term.bytes for term in update.terms if term.id == "activations")


def test_repeated_heads_are_kept_as_often() -> None:
    more = attention_bytes_per_token(GROUPED._replace(repeats=4)) - attention_bytes_per_token(GROUPED)
    assert more == 3 * 4 * 512


@pytest.mark.parametrize(("sp", "repeats"), [(2, 1), (4, 1), (8, 2), (16, 4)])
def test_the_output_is_sent_back_and_few_heads_are_repeated(facts: Any, sp: int, repeats: int) -> None:
    alike = {**RUN, "n_gpus": 16, "sp": sp}
    apart, shared = _kept(facts(**alike)), _kept(facts(SHARED, **alike))
    more = 2 * 3584 + (repeats - 1) * 4 * 512
    assert shared / apart - 1 == pytest.approx(more / layer_bytes_per_token(GROUPED), rel=0.01)


def test_one_rank_sends_nothing(facts: Any) -> None:
    assert _kept(facts(SHARED, **RUN)) == _kept(facts(**RUN))
