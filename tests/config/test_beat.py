"""The beat when the machine's clock is set, and its sign of life."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from config.beat import Scheduler
from config.celery import app


@pytest.fixture
def beat(tmp_path: Path, settings: object) -> Iterator[Scheduler]:
    settings.BEAT_ALIVE = tmp_path / "beat-alive"  # type: ignore[attr-defined]
    scheduler = Scheduler(app, schedule_filename=str(tmp_path / "beat"), lazy=True)
    scheduler.setup_schedule()
    yield scheduler
    scheduler._store.close()


def moved(beat: Scheduler, by: timedelta) -> None:
    for entry in beat.schedule.values():
        entry.last_run_at += by


def test_a_clock_that_was_set_back_holds_no_task_up_for_longer_than_its_own_interval(beat: Scheduler) -> None:
    moved(beat, timedelta(days=1))
    assert beat.tick() <= 120
    ours = app.conf.beat_schedule
    assert all(beat.schedule[name].is_due()[1] <= ours[name]["schedule"] for name in ours)


def test_a_clock_that_is_set_back_while_the_beat_runs_does_not_either(beat: Scheduler) -> None:
    beat.tick()
    moved(beat, timedelta(hours=1))
    assert beat.tick() <= 120


def test_each_tick_is_a_sign_of_life_whatever_file_holds_the_schedule(beat: Scheduler, tmp_path: Path) -> None:
    assert not (tmp_path / "beat-alive").exists()
    beat.tick()
    assert (tmp_path / "beat-alive").exists()


def test_a_worker_whose_clock_runs_minutes_ahead_still_takes_what_the_beat_sends() -> None:
    assert min(entry["options"]["expires"] for entry in app.conf.beat_schedule.values()) >= 3600
