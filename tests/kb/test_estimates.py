"""Stored estimates: what is old is made again, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnose.knowledge import Knowledge
from kb import documents, estimates, tasks
from kb.content import load_cases
from kb.models import CaseEstimate, Document
from tests.kb.conftest import document

pytestmark = pytest.mark.django_db


@pytest.fixture
def case(folder: Path, knowledge: Knowledge) -> Document:
    load_cases(folder, knowledge)
    return Document.objects.get()


def test_a_second_run_finds_nothing_to_do(case: Document) -> None:
    assert estimates.refresh() == 1
    stored = CaseEstimate.objects.values().get()
    assert estimates.refresh() == 0
    assert CaseEstimate.objects.values().get() == stored


def test_the_task_does_the_same(case: Document) -> None:
    assert tasks.refresh_estimates() == 1
    assert tasks.refresh_estimates() == 0


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
    assert estimates.refresh() == 1
    assert CaseEstimate.objects.count() == 1


def test_an_edit_makes_it_old(case: Document, knowledge: Knowledge) -> None:
    estimates.refresh()
    documents.write(case, document(title="Edited"), knowledge)
    assert estimates.refresh() == 1


def test_a_case_that_cannot_be_read_fails_alone_and_is_not_tried_again(case: Document, knowledge: Knowledge) -> None:
    documents.write(Document(slug="second"), document(), knowledge)
    Document.objects.filter(pk=case.pk).update(text="no document", digest="other")
    assert estimates.refresh() == 2
    told = dict(CaseEstimate.objects.values_list("case__slug", "status"))
    assert told == {"first": "failed", "second": "done"}
    assert "begin the file with a line" in CaseEstimate.objects.get(case=case).why
    assert estimates.refresh() == 0


def test_it_works_through_more_than_one_chunk(
    case: Document, monkeypatch: pytest.MonkeyPatch, knowledge: Knowledge
) -> None:
    monkeypatch.setattr(estimates, "CHUNK", 2)
    for number in range(4):
        documents.write(Document(slug=f"more-{number}"), document(), knowledge)
    assert estimates.refresh() == 5
