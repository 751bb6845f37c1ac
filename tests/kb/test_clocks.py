"""Servers whose clocks differ or are set, and editors who sit in several time zones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from diagnose.knowledge import Knowledge, current
from kb import changes, comments, estimates, metrics, starters
from kb.models import Document, Refresh, Revision
from kb.templatetags.moments import ago, moment
from tests.kb.conftest import created, document, edited

pytestmark = pytest.mark.django_db
MIDNIGHT = datetime(2026, 11, 22, 16, 30, tzinfo=UTC)


@pytest.fixture
def knowledge() -> Knowledge:
    return current()


@pytest.fixture
def begun(knowledge: Knowledge) -> Refresh:
    created("one")
    created("two")
    run = estimates.begin(None, knowledge)
    assert run
    return run


@pytest.fixture
def in_shanghai() -> Iterator[None]:
    with timezone.override("Asia/Shanghai"):
        yield


@pytest.mark.parametrize("minutes", [2, -2])
def test_a_server_whose_clock_differs_does_not_take_the_run_of_another_for_dead(
    begun: Refresh, knowledge: Knowledge, minutes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = timezone.now() + timedelta(minutes=minutes)
    monkeypatch.setattr(timezone, "now", lambda: there)
    assert begun.lives
    assert estimates.begin(None, knowledge) is None


def test_the_times_of_a_run_are_all_of_one_clock(begun: Refresh, monkeypatch: pytest.MonkeyPatch) -> None:
    late = timezone.now() - timedelta(minutes=2)
    monkeypatch.setattr(timezone, "now", lambda: late)
    estimates.refresh(begun)
    done = Refresh.objects.get()
    assert done.ended
    assert done.started <= done.ended
    assert done.seconds < 60


def test_a_run_whose_last_sign_of_life_is_yet_to_come_is_dead(begun: Refresh, knowledge: Knowledge) -> None:
    """The clock was set back by an hour after its worker was killed."""
    Refresh.objects.update(seen=timezone.now() + timedelta(hours=1))
    assert not begun.lives
    assert estimates.begin(None, knowledge)


def test_a_run_of_a_day_that_is_yet_to_come_does_not_hide_the_one_that_works(
    begun: Refresh, knowledge: Knowledge
) -> None:
    Refresh.objects.update(started=timezone.now() + timedelta(days=1), ended=timezone.now())
    second = estimates.begin(None, knowledge)
    assert second
    assert Refresh.objects.newest() == second
    assert estimates.begin(None, knowledge) is None, "two workers would make the same estimates"


def test_the_newest_change_comes_first_though_it_was_made_where_the_clock_is_late() -> None:
    case = edited(created("here"), document(title="Changed"))
    Revision.objects.filter(number=2).update(made=timezone.now() - timedelta(minutes=2))
    assert [revision.number for revision in changes.of(User(), Document.CASES) if revision.document == case] == [2, 1]


def test_an_answer_stands_below_what_it_answers_though_it_was_made_where_the_clock_is_late(client: Client) -> None:
    case, user = created("here"), User.objects.create_user("ada")
    comments.add(case, "Did it help?", user)
    answer = comments.add(case, "It did.", user)
    type(answer).objects.filter(pk=answer.pk).update(made=timezone.now() - timedelta(minutes=2))
    page = client.get("/cases/here/").text
    assert page.index("Did it help?") < page.index("It did.")


def test_after_an_upgrade_nothing_has_waited_for_longer_than_the_new_version_runs(settings: object) -> None:
    settings.METRICS_TOKEN = "shown"  # type: ignore[attr-defined]
    created("old")
    Document.objects.update(updated=timezone.now() - timedelta(days=300))
    figures = {family.name: family.samples[0].value for family in metrics._WorkLists().collect()}
    assert figures["headroom_stale_estimates"] == 1
    assert 0 <= figures["headroom_stale_seconds"] < 24 * 3600


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("UTC", "22 November 2026, 16:30 UTC"),
        ("Asia/Shanghai", "23 November 2026, 00:30 UTC+8"),
        ("Asia/Kolkata", "22 November 2026, 22:00 UTC+5:30"),
        ("America/St_Johns", "22 November 2026, 13:00 UTC-3:30"),
    ],
)
def test_an_hour_is_told_with_its_zone(name: str, shown: str) -> None:
    with timezone.override(name):
        assert moment(MIDNIGHT) == shown


def test_the_hour_that_summer_time_repeats_is_told_apart() -> None:
    with timezone.override("Europe/Berlin"):
        twice = [moment(datetime(2026, 10, 25, hour, 30, tzinfo=UTC), "H:i") for hour in (0, 1)]
    assert twice == ["02:30 UTC+2", "02:30 UTC+1"]


def test_a_new_page_is_reviewed_on_the_day_of_those_who_write_it(
    in_shanghai: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timezone, "now", lambda: MIDNIGHT)
    assert "reviewed = 2026-11-23\n" in starters.text(Document.CASES)


def test_what_was_typed_a_moment_ago_is_not_zero_minutes_old() -> None:
    assert ago(timezone.now() - timedelta(seconds=20)) == "a moment ago"
    assert ago(timezone.now() - timedelta(minutes=3, seconds=1)) == "3\xa0minutes ago"
