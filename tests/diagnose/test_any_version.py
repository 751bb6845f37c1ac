"""A run whose trainer's version nobody tells surely runs out only if it does in every release that the text leaves possible."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.facts.trainer.versions import turns
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis

ASKS = (
    "Does it fit?\ntrl dpo --model_name_or_path Qwen/{model} --per_device_train_batch_size 18 --max_length 1024\n"
    "1 x A100 80GB\n"
)


def ask(model: str = "Qwen2.5-1.5B", more: str = "", **answers: Any) -> Diagnosis:
    return diagnose(ASKS.format(model=model) + more, answers, current(), ())


def test_one_that_runs_out_in_every_release_does_so() -> None:
    assert ask("Qwen2.5-32B").verdict == "out"


@pytest.mark.parametrize("version", ["1.6.0", "0.19.0"])
def test_a_version_that_is_told_settles_it(version: str) -> None:
    assert ask(framework_version=version).verdict == "out"
    assert ask(more=f"trl=={version}").verdict == "out"


def test_a_run_that_has_failed_is_looked_at_as_before() -> None:
    found = ask(more="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB.")
    assert found.estimate.gpu is not None
    assert found.estimate.gpu.verdict() == "out"


def test_where_a_release_may_fit_the_band_reaches_down_to_it_and_the_version_is_asked_first() -> None:
    found, told = ask(), ask(framework_version="0.29.0")
    assert found.estimate.gpu is not None
    assert told.estimate.gpu is not None
    worst, limit = found.estimate.gpu.worst, found.estimate.gpu.limit or 0
    same = told.estimate.gpu.phase(worst.phase)
    assert same is not None
    assert found.verdict == "close"
    assert worst.low <= same.low < limit
    assert worst.bytes > limit
    assert found.questions[0].question.fact == "framework_version"


def test_as_many_releases_as_are_asked_for_are_as_many_changes_apart() -> None:
    trainer = current().frameworks["trl"]
    three, six = turns(trainer), turns(trainer, most=6)
    assert set(three) <= set(six)
    assert len(six) == 6
    assert set(turns(trainer, "0.16", "0.20", most=6)) <= {"0.16.0", "0.17.0", "0.18.0", "0.19.0"}
