"""The frozen cases that a viewer may see."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import AnonymousUser
from pytest_django import DjangoAssertNumQueries

from diagnose.knowledge import Knowledge
from kb import content
from kb.cases import cases_for
from kb.models import Document
from tests.kb.conftest import document, edited

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _one_case(folder: Path, knowledge: Knowledge) -> None:
    content.load(folder, knowledge)


def test_nobody_sees_what_is_not_published() -> None:
    Document.objects.update(state=Document.TRASH)
    assert cases_for(None) == ()


def test_a_visitor_who_is_not_signed_in_sees_what_is_published() -> None:
    assert [case.slug for case in cases_for(AnonymousUser())] == ["first"]
    assert cases_for(None) == cases_for(AnonymousUser())


def test_the_same_base_costs_one_query_and_gives_the_same_tuple(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    first = cases_for(None)
    with django_assert_num_queries(1):
        assert cases_for(None) is first


def test_an_edit_shows_at_once(knowledge: Knowledge) -> None:
    cases_for(None)
    edited(Document.objects.get(), document(title="Edited"))
    assert [case.title for case in cases_for(None)] == ["Edited"]


def test_a_deletion_shows_at_once() -> None:
    cases_for(None)
    Document.objects.all().delete()
    assert cases_for(None) == ()


def test_a_text_that_this_version_cannot_read_is_left_out() -> None:
    Document.objects.update(text="no document", digest="other", revision=9)
    assert cases_for(None) == ()
