"""The estimator against what real trainers allocated: tests/data/trainers/, written by the scripts of benchmarks/trainers/.

A point's command is read as a person's paste would be, beside the small model's config.json. ``off`` names a phase whose estimate
is known to lie further away, how far, and ``why`` says the cause. Of a phase in ``open`` the cause is known and not entered yet: its
test must fail until it is.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from diagnose.estimate.phases import reserved_bytes, trainer_bytes
from diagnose.types.estimate import PoolEstimate
from tests.runs import run_of

STEP, RESERVED = 0.07, 0.12  # how far the estimate may be off
OUTSIDE = 0.15 * 2**30  # bytes
FILES = sorted((Path(__file__).parents[1] / "data" / "trainers").glob("*.toml"))


def _points() -> list[Any]:
    found = [(file.stem, tomllib.loads(file.read_text())) for file in FILES]
    return [
        pytest.param(point, phase, id=f"{trainer}-{point['id']}-{phase}", marks=_marks(point, phase))
        for trainer, measured in found
        for point in measured["point"]
        for phase in point["peaks"]
    ]


def _points_with(measured: str) -> list[Any]:
    found = [(file.stem, point) for file in FILES for point in tomllib.loads(file.read_text())["point"]]
    return [pytest.param(point, id=f"{trainer}-{point['id']}") for trainer, point in found if measured in point]


def _marks(point: dict[str, Any], phase: str) -> list[pytest.MarkDecorator]:
    """A phase that is mended has no mark any more."""
    return [pytest.mark.xfail(strict=True, reason=point["why"])] if phase in point.get("open", ()) else []


def _estimated(point: dict[str, Any]) -> PoolEstimate:
    """The card's memory of a run, computed once for all that was measured of it."""
    return _read(f"{point['paste']}\n\n{point['config']}", tuple(point["answers"].items()))


@cache
def _read(text: str, answers: tuple[tuple[str, str], ...]) -> PoolEstimate:
    found = run_of(text, dict(answers)).estimate
    assert found.gpu, found.missing
    return found.gpu


@pytest.mark.parametrize(("point", "phase"), _points())
def test_a_step_of_a_real_trainer_is_estimated_right(point: dict[str, Any], phase: str) -> None:
    phases = {one.phase: trainer_bytes(one) for one in _estimated(point).phases}
    tolerance = point.get("off", {}).get(phase, STEP)
    assert phases[phase] == pytest.approx(point["peaks"][phase], rel=tolerance)


@pytest.mark.parametrize("point", _points_with("reserved"))
def test_what_the_allocator_keeps_of_a_real_trainers_steps_is_right(point: dict[str, Any]) -> None:
    reserved = max(map(reserved_bytes, _estimated(point).phases))
    assert reserved == pytest.approx(point["reserved"], rel=point.get("off", {}).get("reserved", RESERVED))


@pytest.mark.parametrize("point", _points_with("outside"))
def test_what_a_process_takes_of_a_card_outside_of_its_allocator_is_right(point: dict[str, Any]) -> None:
    terms = {term.id: term.bytes for term in _estimated(point).phase("actor_update").terms}
    assert terms["cuda_context"] + terms["workspaces"] == pytest.approx(point["outside"], abs=OUTSIDE)
