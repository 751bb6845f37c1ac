"""Stored estimates: what is old is made again, and nothing else; a run tells how far it is and ends when asked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from diagnose.knowledge import Knowledge
from kb import estimates, saving, tasks
from kb.models import CaseEstimate, Document, Member, Refresh, Role
from tests.kb.conftest import document

pytestmark = pytest.mark.django_db


@pytest.fixture
def case(knowledge: Knowledge) -> Document:
    saving.create("cases", "first", document(), None, "", knowledge)
    return Document.objects.get()


def more(count: int, knowledge: Knowledge) -> None:
    for number in range(count):
        saving.create("cases", f"more-{number}", document(), None, "", knowledge)


def done(run: int = 0) -> int:
    """How many cases the newest run estimated."""
    return Refresh.objects.all()[run].done


@pytest.fixture
def reviewer(client: Client) -> User:
    user = User.objects.create_user("rae")
    Member.objects.create(user=user, role=Role.REVIEWER)
    client.force_login(user)
    return user


def test_nobody_below_a_reviewer_begins_or_stops_a_run(client: Client, case: Document) -> None:
    editor = User.objects.create_user("ed")
    Member.objects.create(user=editor, role=Role.EDITOR)
    for signed_in in (False, True):
        if signed_in:
            client.force_login(editor)
        for name in ("refresh", "refresh_stop"):
            assert client.post(reverse(f"kb:{name}")).status_code in (401, 403)
    assert not Refresh.objects.exists()


def test_figures_of_an_earlier_text_are_not_shown_as_those_of_this_one(
    client: Client, case: Document, knowledge: Knowledge
) -> None:
    page, data, row, words = (
        "/cases/first/",
        "/cases/first.json",
        'class="grid-t against"',
        "was changed after the estimate",
    )
    saving.save(case, document().replace("n_gpus = 8", "n_gpus = 8\nparams_b = 7.6"), 1, None, "", knowledge)
    estimates.refresh()
    assert "estimates" in client.get(data).json()
    assert row in client.get(page).content.decode()
    assert "no estimate" not in client.get("/cases/").content.decode()
    saving.save(case, document().replace("n_gpus = 8", "n_gpus = 1\nparams_b = 70"), 2, None, "", knowledge)
    shown = client.get(page).content.decode()
    assert words in shown
    assert row not in shown
    assert "estimates" not in client.get(data).json()
    assert "no estimate" in client.get("/cases/").content.decode()
    estimates.refresh()
    assert row in client.get(page).content.decode()


def test_a_second_run_finds_nothing_to_do(case: Document) -> None:
    estimates.refresh()
    stored = CaseEstimate.objects.values().get()
    estimates.refresh()
    assert CaseEstimate.objects.values().get() == stored
    assert Refresh.objects.count() == 1


def test_the_task_does_the_same(case: Document) -> None:
    tasks.refresh_estimates()
    tasks.refresh_estimates()
    assert (done(), Refresh.objects.count()) == (1, 1)


def test_it_stores_the_peaks_of_each_phase(case: Document) -> None:
    estimates.refresh()
    stored = CaseEstimate.objects.get()
    assert (stored.status, stored.why) == ("done", "")
    gpu = stored.result["gpu"]
    assert gpu["capacity"] == pytest.approx(79.25)
    peaks = {phase["phase"]: phase["gib"] for phase in gpu["phases"]}
    assert peaks[gpu["peak"]] == max(peaks.values())


@pytest.mark.parametrize("field", ["engine_digest", "knowledge_digest", "case_digest"])
def test_it_is_old_when_engine_knowledge_or_text_moved(case: Document, field: str) -> None:
    estimates.refresh()
    CaseEstimate.objects.update(**{field: "older"})
    estimates.refresh()
    assert (CaseEstimate.objects.count(), Refresh.objects.count()) == (1, 2)
    assert getattr(CaseEstimate.objects.get(), field) != "older"


def test_an_edit_makes_it_old(case: Document, knowledge: Knowledge) -> None:
    estimates.refresh()
    assert estimates.stale(knowledge) == 0
    saving.save(case, document(title="Edited"), case.revision, None, "", knowledge)
    assert estimates.stale(knowledge) == 1


def test_what_lies_in_the_trash_is_not_estimated(case: Document, knowledge: Knowledge) -> None:
    Document.objects.update(state=Document.TRASH)
    assert estimates.stale(knowledge) == 0


def test_each_fix_that_tells_its_settings_is_estimated_too(case: Document, knowledge: Knowledge) -> None:
    text = document().replace("worked = true\n", "worked = true\nfacts = { micro_batch = 1 }\n", 1)
    saving.save(case, text, 1, None, "", knowledge)
    estimates.refresh()
    assert set(CaseEstimate.objects.values_list("moment", flat=True)) == {"as it failed", "fix 1"}
    saving.save(case, document(), 2, None, "", knowledge)
    estimates.refresh()
    assert CaseEstimate.objects.get().moment == "as it failed"


def test_a_case_that_cannot_be_read_fails_alone_and_is_not_tried_again(case: Document, knowledge: Knowledge) -> None:
    more(1, knowledge)
    Document.objects.filter(pk=case.pk).update(text="no document", digest="other")
    estimates.refresh()
    told = dict(CaseEstimate.objects.values_list("case__slug", "status"))
    assert told == {"first": "failed", "more-0": "done"}
    assert "begin the file with a line" in CaseEstimate.objects.get(case=case).why
    assert estimates.stale(knowledge) == 0
    assert Refresh.objects.get().failed == 1


def test_a_case_that_ends_its_worker_is_given_up_and_the_cases_behind_it_are_not(
    case: Document, monkeypatch: pytest.MonkeyPatch, knowledge: Knowledge
) -> None:
    monkeypatch.setattr(estimates, "chunk_size", lambda total: 3)
    more(4, knowledge)
    deadly = Document.objects.get(slug="more-1").pk
    honest, met = estimates._moments, []

    def dies(case: Document, knowledge: Knowledge) -> Iterator[CaseEstimate]:
        met.append(case.slug)
        if case.pk == deadly:
            raise SystemExit
        return honest(case, knowledge)

    monkeypatch.setattr(estimates, "_moments", dies)
    for _ in range(3):
        with pytest.raises(SystemExit):
            estimates.refresh()
        Refresh.objects.filter(ended=None).update(seen=timezone.now() - 2 * Refresh.SILENT)
    assert estimates.stale(knowledge) == 3, "the cases before it in its chunk were estimated alone"
    estimates.refresh()
    assert estimates.stale(knowledge) == 0
    assert met.count("more-1") == 3
    told = dict(CaseEstimate.objects.values_list("case__slug", "status"))
    assert {slug for slug, status in told.items() if status == "failed"} == {"more-1"}
    assert "ended 3 times" in CaseEstimate.objects.get(case=deadly).why
    monkeypatch.setattr(estimates, "_moments", honest)
    saving.save(Document.objects.get(pk=deadly), document(title="Mended"), 1, None, "", knowledge)
    estimates.refresh()
    assert CaseEstimate.objects.get(case=deadly).status == "done", "a change gives it another try"


def test_a_case_that_changed_since_it_ended_its_worker_is_tried_as_it_is_now(
    case: Document, monkeypatch: pytest.MonkeyPatch, knowledge: Knowledge
) -> None:
    def dies(case: Document, knowledge: Knowledge) -> Iterator[CaseEstimate]:
        raise SystemExit

    with monkeypatch.context() as fault:
        fault.setattr(estimates, "_moments", dies)
        for _ in range(3):
            with pytest.raises(SystemExit):
                estimates.refresh()
            Refresh.objects.filter(ended=None).update(seen=timezone.now() - 2 * Refresh.SILENT)
    saving.save(case, document(title="Mended"), case.revision, None, "", knowledge)
    estimates.refresh()
    assert CaseEstimate.objects.get().status == "done"


def test_it_works_through_more_than_one_chunk(
    case: Document, monkeypatch: pytest.MonkeyPatch, knowledge: Knowledge
) -> None:
    monkeypatch.setattr(estimates, "CHUNK", 2)
    more(4, knowledge)
    estimates.refresh()
    assert (done(), estimates.stale(knowledge)) == (5, 0)


def test_progress_is_told_to_one_per_cent() -> None:
    assert [estimates.chunk_size(total) for total in (1, 100, 1_000, 10_000, 100_000)] == [1, 1, 10, 100, 100]


def test_a_long_run_is_gone_on_with_by_the_next_message(case: Document, knowledge: Knowledge) -> None:
    more(4, knowledge)
    left = estimates.refresh(longest=0)
    assert left is not None
    assert (left.done, left.lives) == (1, True)
    assert estimates.refresh(left) is None
    assert (done(), Refresh.objects.count(), estimates.stale(knowledge)) == (5, 1, 0)


def test_two_workers_do_not_do_the_same_run(case: Document, knowledge: Knowledge) -> None:
    more(2, knowledge)
    estimates.refresh(longest=0)
    assert estimates.refresh() is None
    assert done() == 1


def test_a_run_that_gave_no_sign_of_life_is_taken_over(case: Document, knowledge: Knowledge) -> None:
    more(2, knowledge)
    estimates.refresh(longest=0)
    Refresh.objects.update(seen=timezone.now() - Refresh.SILENT - timedelta(seconds=1))
    estimates.refresh()
    assert [run.done for run in Refresh.objects.all()] == [2, 1]
    assert all(run.ended for run in Refresh.objects.all())


def test_a_run_that_is_stopped_ends_after_its_chunk_and_keeps_what_it_did(case: Document, knowledge: Knowledge) -> None:
    more(2, knowledge)
    run = estimates.begin(None, knowledge)
    assert run is not None
    estimates.stop(run)
    assert estimates.refresh(run) is None
    assert (done(), CaseEstimate.objects.count(), estimates.stale(knowledge)) == (1, 1, 2)


def test_the_page_says_what_is_out_of_date_and_a_reviewer_begins_a_run(
    client: Client, case: Document, reviewer: User
) -> None:
    assert "1</b> case is out of date" in client.get(reverse("kb:estimates")).content.decode()
    assert client.post(reverse("kb:refresh")).status_code == 302
    assert Refresh.objects.get().started_by == reviewer
    progress = client.get(reverse("kb:progress")).content.decode()
    assert "0 of 1" in progress
    assert "every 2s" in progress
    client.post(reverse("kb:refresh_stop"))
    assert "Stopping after this chunk" in client.get(reverse("kb:progress")).content.decode()


def test_a_run_that_nobody_could_be_woken_for_says_so(client: Client, case: Document, reviewer: User) -> None:
    folder = Path(settings.CELERY_BROKER_TRANSPORT_OPTIONS["data_folder_out"])
    away = folder.rename(folder.with_name("away"))
    try:
        page = client.post(reverse("kb:refresh"), follow=True).content.decode()
    finally:
        away.rename(folder)
    assert "no worker could be woken" in page
    assert "no worker has told of it yet" in page
    assert "0.0" not in page.split("0 of 1")[1].split("</div>")[0]
