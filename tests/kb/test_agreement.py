"""Where the estimates of what ships and the reports part."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from diagnose.knowledge import current
from diagnose.pipeline import estimate_case
from diagnose.vocabulary import Value
from kb.agreement import Row, call
from kb.estimates import small
from kb.models import Document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shipped")]


def test_the_page_names_where_estimate_and_report_part(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(8):
        page = client.get(reverse("kb:estimates")).content.decode()
    assert "every 2s" not in page
    told = client.get(reverse("kb:estimates_data")).json()
    assert told["agree"] + told["close"] + told["unsafe"] + told["careful"] > 0
    for row in told["worst"]:
        assert f"/cases/{row['case']}/" in page


@pytest.mark.parametrize(("settings", "word"), [({}, "close"), ({"micro_batch": 1}, "unsafe")])
def test_what_fits_by_a_guess_alone_is_not_said_to_fit(settings: dict[str, Value], word: str) -> None:
    knowledge = current()
    case = knowledge.cases["verl-qwen2.5-7b-step-50-vllm-0.8.2"]
    told = replace(case, facts={**case.facts, **settings})
    assert call(told, None, small(estimate_case(told, knowledge))) == word


@pytest.mark.parametrize(("apart", "said"), [(-0.69, "−69\u00a0%"), (1.99, "+199\u00a0%"), (None, "")])
def test_the_distance_of_an_estimate_says_its_side(apart: float | None, said: str) -> None:
    assert Row(Document(), "", "", "", apart).apart_words == said


def test_drafts_do_not_show_in_the_agreement(client: Client, shipped: None) -> None:
    Document.objects.update(state=Document.DRAFT)
    told = client.get(reverse("kb:estimates_data")).json()
    assert told["worst"] == []
    assert told["agree"] == 0
