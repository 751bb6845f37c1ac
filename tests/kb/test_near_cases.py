"""Of very many cases a diagnosis looks at the near ones alone: never at one that its viewer may not see, always at the nearest."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client

from diagnose.knowledge import Knowledge
from diagnose.pipeline import diagnose
from kb import cases, near_cases
from kb.cases import cases_for, counts
from kb.models import Document
from kb.near_cases import near
from tests.kb.conftest import created, document

pytestmark = pytest.mark.django_db
VISITOR = AnonymousUser()


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three cases are very many here, and two are near."""
    monkeypatch.setattr(cases, "WHOLE", 3)
    monkeypatch.setattr(near_cases, "CLOSE", 2)
    for number in range(4):
        created(f"plain-{number}")


def looked_at(knowledge: Knowledge, **answers: object) -> list[str]:
    return [case.slug for case in diagnose("", answers, knowledge, near(VISITOR)).cases]  # type: ignore[arg-type]


def test_of_few_cases_every_one_is_looked_at(knowledge: Knowledge) -> None:
    created("one")
    assert near(VISITOR) == cases_for(VISITOR)
    assert looked_at(knowledge, oom_kind="gpu_oom") == ["one"]


def test_of_many_the_newest_of_those_that_share_most_are(many: None, knowledge: Knowledge) -> None:
    created("host", document(kind="host_ram"))
    assert looked_at(knowledge, oom_kind="gpu_oom") == ["plain-2", "plain-3"]
    assert looked_at(knowledge, oom_kind="host_ram") == ["host"]


def test_where_nothing_is_told_the_newest_are(many: None, knowledge: Knowledge) -> None:
    assert looked_at(knowledge) == ["plain-2", "plain-3"]


def test_a_fact_that_no_index_holds_brings_a_case_forward(many: None, knowledge: Knowledge) -> None:
    created("sixteen", document().replace("n_gpus = 8", "n_gpus = 16"))
    created("after")
    assert "sixteen" in looked_at(knowledge, oom_kind="gpu_oom", n_gpus=16)
    assert "sixteen" not in looked_at(knowledge, oom_kind="gpu_oom", n_gpus=8)


def test_the_same_printed_figure_brings_a_case_forward_that_the_index_does_not(
    many: None, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_cases, "WIDE", 1)
    created("printed", document().replace("n_gpus = 8", "n_gpus = 8\ntried_alloc_gib = 5.86"))
    created("after")
    assert looked_at(knowledge, oom_kind="gpu_oom", tried_alloc_gib=5.86) == ["after", "printed"]
    assert looked_at(knowledge, oom_kind="gpu_oom", tried_alloc_gib=5.87) == ["after"]


def test_where_many_failed_so_in_one_framework_the_others_are_not_weighed(
    many: None, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_cases, "WIDE", 2)
    framework, other = sorted(knowledge.frameworks)[:2]
    created("elsewhere", document(framework=other).replace("n_gpus = 8", "n_gpus = 16"))
    assert looked_at(knowledge, oom_kind="gpu_oom", framework=framework, n_gpus=16) == ["plain-2", "plain-3"]
    assert "elsewhere" in looked_at(knowledge, oom_kind="gpu_oom", framework=other, n_gpus=16)


def test_where_few_did_cases_of_other_frameworks_are_near_too(many: None, knowledge: Knowledge) -> None:
    other = sorted(knowledge.frameworks)[1]
    created("one", document(framework=other))
    assert looked_at(knowledge, oom_kind="gpu_oom", framework=other) == ["one", "plain-3"]


def test_a_draft_is_near_nobody(many: None, knowledge: Knowledge) -> None:
    Document.objects.filter(slug="plain-3").update(state=Document.DRAFT)
    created("more")
    assert "plain-3" not in looked_at(knowledge, oom_kind="gpu_oom")


def test_a_site_for_members_shows_a_visitor_none(many: None, knowledge: Knowledge, settings: object) -> None:
    settings.MEMBERS_ONLY = True  # type: ignore[attr-defined]
    assert looked_at(knowledge, oom_kind="gpu_oom") == []
    assert counts(VISITOR).total == 0


def test_the_first_page_counts_all_of_them(many: None, client: Client) -> None:
    assert counts(VISITOR).total == 4
    assert len(cases_for(VISITOR)) == 3
    assert client.get("/").context["count"] == 4
