"""Pages that are kept for visitors: whoever they are not for never gets one, and none outlives a change."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from diagnose.knowledge import current
from kb import attachments, comments, kept, saving, states
from kb.models import CaseEstimate, Document, Member, Role
from tests.kb.conftest import created, document, edited

pytestmark = pytest.mark.django_db
CASE = "/cases/first/"


@pytest.fixture
def case() -> Document:
    return created("first")


@pytest.fixture
def member() -> User:
    user = User.objects.create_user("ana", password="correct-horse-9")
    Member.objects.create(user=user, role=Role.REVIEWER)
    return User.objects.select_related("member").get(pk=user.pk)


def page(path: str = CASE, client: Client | None = None, **headers: str) -> str:
    return (client or Client()).get(path, headers=headers).content.decode()


def test_a_page_of_a_member_is_neither_given_to_a_visitor_nor_the_other_way_round(case: Document, member: User) -> None:
    ana = Client()
    ana.force_login(member)
    assert "Sign in" in page()
    assert "Sign in" not in page(client=ana)
    assert "Sign in" in page()
    assert "Take back" not in page()


def test_a_site_for_members_shows_nothing_that_was_kept(case: Document, settings: Any) -> None:
    assert case.title in page()
    settings.MEMBERS_ONLY = True
    assert Client().get(CASE).status_code == 302


def test_a_page_that_became_a_draft_is_gone_at_once(case: Document, member: User) -> None:
    assert case.title in page()
    states.unpublish(case, member)
    assert Client().get(CASE).status_code == 404


@pytest.mark.parametrize("change", ["text", "comment", "file", "estimate", "note"])
def test_a_change_is_seen_by_the_next_visitor(case: Document, member: User, change: str) -> None:
    lever = next(iter(current().levers))
    path = f"/levers/{lever}/" if change == "note" else CASE
    before = page(path)
    if change == "text":
        edited(case, document(title="Nine cards run out"))
    elif change == "comment":
        comments.add(case, "Seen here too.", member)
    elif change == "file":
        attachments.add(case, SimpleUploadedFile("trace.txt", b"x"), member)
    elif change == "note":
        saving.create("notes", f"levers/{lever}", "Ours.\n", member, "", current())
    else:
        digests = {"case_digest": case.digest, "engine_digest": "e", "knowledge_digest": "k"}
        CaseEstimate.objects.create(case=case, **digests, status="failed", why="No model is told.")
    assert page(path) != before


def test_what_was_pasted_into_the_search_box_is_not_kept() -> None:
    Client().get("/search/", {"q": "Traceback (most recent call last)"})
    assert not kept._pages


def test_a_page_that_is_not_there_is_not_kept() -> None:
    Client().get(CASE)
    assert not kept._pages


def test_two_addresses_and_two_hosts_are_two_pages(case: Document, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["a.example", "b.example"]
    for host, path in (("a.example", CASE), ("b.example", CASE), ("a.example", f"{CASE}?x=1")):
        Client().get(path, headers={"Host": host})
    assert len(kept._pages) == 3


def test_the_oldest_pages_make_room(case: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    page()
    monkeypatch.setattr(kept, "MOST_BYTES", 3 * kept._size)
    for number in range(20):
        page(f"{CASE}?n={number}")
    assert kept._size <= kept.MOST_BYTES
    assert kept._size == sum(len(one.body) for one in kept._pages.values())


def test_a_kept_page_costs_one_query(case: Document, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    page()
    with django_assert_num_queries(1):
        page()


def test_it_is_sent_compressed_to_those_who_take_it(case: Document) -> None:
    plain, packed = Client().get(CASE), Client().get(CASE, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain.content
    assert {"Cookie", "Accept-Encoding"} <= {word.strip() for word in plain.headers["Vary"].split(",")}


def test_whoever_has_it_is_told_so_until_it_changes(case: Document) -> None:
    mark = Client().get(CASE).headers["ETag"]
    again = Client().get(CASE, headers={"If-None-Match": mark})
    assert (again.status_code, again.content) == (304, b"")
    edited(case, document(title="Nine cards run out"))
    assert Client().get(CASE, headers={"If-None-Match": mark}).status_code == 200
