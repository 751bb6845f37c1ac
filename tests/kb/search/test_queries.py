"""What engineers type into the search, against what ships: the page that they hope for is among the first three."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from diagnose.knowledge import Knowledge
from kb.models import Entry
from kb.search.find import find, suggest

FIRST = 3
ROWS = [
    tuple(line.split(" => "))
    for line in Path(__file__).with_name("queries.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("findable")]


@pytest.fixture(scope="module")
def findable(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """What ships, in the index, loaded once for this file."""
    with django_db_blocker.unblock():
        everything = transaction.atomic()
        everything.__enter__()
        call_command("load_content", verbosity=0)
    yield
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        everything.__exit__(None, None, None)


def names(query: str, knowledge: Knowledge) -> list[str]:
    return [f"{entry.kind}/{entry.slug}" for entry in find(query, AnonymousUser(), knowledge).entries]


@pytest.mark.parametrize(("query", "wanted"), ROWS)
def test_the_page_that_is_hoped_for_is_among_the_first(query: str, wanted: str, knowledge: Knowledge) -> None:
    first = names(query, knowledge)[:FIRST]
    assert any(fnmatchcase(name, pattern) for name in first for pattern in wanted.split()), first


def test_every_page_of_the_table_is_there() -> None:
    there = {f"{kind}/{slug}" for kind, slug in Entry.objects.values_list("kind", "slug")}
    missing = {p for _, wanted in ROWS for p in wanted.split() if not any(fnmatchcase(name, p) for name in there)}
    assert not missing


@pytest.mark.parametrize(
    "query", ["vllm", "deepseed zeero3 chekpointing", "训练几步后 oom", "zzyzx qqqq wwww eeee", "a.b_c d.e_f"]
)
def test_a_search_takes_six_queries_at_most(query: str, client: Client) -> None:
    with CaptureQueriesContext(connection) as asked:
        assert client.get(reverse("kb:search"), {"q": query}).status_code == 200
    assert len(asked) <= 6


def test_a_page_tells_the_name_by_which_it_was_found(client: Client) -> None:
    page = client.get(reverse("kb:search"), {"q": "use_liger_kernel"}).content.decode()
    assert "lever · <code>use_liger_kernel</code>" in page


def test_it_is_said_where_no_page_has_all_words(client: Client) -> None:
    page = client.get(reverse("kb:search"), {"q": "expandable_segments unheardof"}).content.decode()
    assert "No page has all of these words" in page
    assert reverse("kb:lever", args=["allocator.expandable_segments"]) in page


def test_the_same_words_in_chinese_find_pages_in_english(knowledge: Knowledge) -> None:
    assert "levers/offload.optimizer.on" in names("优化器 offload", knowledge)[:FIRST]
    assert "signatures/npu-oom" in names("昇腾 显存不足", knowledge)[:FIRST]


@pytest.mark.parametrize("query", ["显存不足", "显存不够", "显存溢出", "爆显存", "显存爆了"])
def test_a_full_card_in_chinese_finds_as_many_pages_as_in_english(query: str, knowledge: Knowledge) -> None:
    in_english, found = (find(words, AnonymousUser(), knowledge) for words in ("cuda out of memory", query))
    assert not found.some
    assert found.total > in_english.total / 2


def test_the_number_of_cards_before_a_name_is_no_word(knowledge: Knowledge) -> None:
    for query in ("8xH100", "h100x8", "8 x H100", "h100"):
        assert names(query, knowledge)[0] == "gpus/h100", query


def test_suggestions_hold_the_page_that_a_key_leads_to(knowledge: Knowledge) -> None:
    found = [f"{entry.kind}/{entry.slug}" for entry in suggest("gpu_memory_ut", AnonymousUser(), knowledge)]
    assert "levers/rollout.gpu_memory_utilization.down" in found[:FIRST]
