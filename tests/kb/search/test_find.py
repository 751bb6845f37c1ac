"""What a search finds, in which order, for whom; the same on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from diagnose.knowledge import Knowledge
from kb import saving, states
from kb.models import Document, Entry, Member, Role
from kb.search import index
from kb.search.find import address, find, suggest
from kb.search.tokens import document_tokens
from kb.sections import first_sentence
from tests.kb.conftest import document

pytestmark = pytest.mark.django_db
Write = Callable[..., Document]


@pytest.fixture
def write(knowledge: Knowledge) -> Write:
    """Puts a case into the base."""

    def written(slug: str, **words: str) -> Document:
        return saving.create("cases", slug, document(**words), None, "", knowledge).document

    return written


def slugs(query: str, knowledge: Knowledge, user: object = None) -> list[str]:
    found = find(query, user or AnonymousUser(), knowledge)  # type: ignore[arg-type]
    return [entry.slug for entry in found.entries]


def member(name: str, role: Role) -> User:
    user = User.objects.create_user(name)
    Member.objects.create(user=user, role=role)
    return user


def test_the_trash_is_not_found_even_by_an_admin(write: Write, knowledge: Knowledge) -> None:
    admin = member("ada", Role.ADMIN)
    states.delete(write("gone", body="unheardof"), admin)
    assert slugs("unheardof", knowledge, admin) == []


def test_a_draft_is_found_by_its_author_and_reviewers_alone(knowledge: Knowledge) -> None:
    author, editor, reviewer = member("a", Role.EDITOR), member("b", Role.EDITOR), member("c", Role.REVIEWER)
    text = document(title="Hidden words", body="unheardof")
    saving.create("cases", "mine", text, author, "", knowledge, Document.DRAFT)
    assert slugs("unheardof", knowledge, author) == slugs("unheardof", knowledge, reviewer) == ["mine"]
    for user in (editor, AnonymousUser()):
        assert slugs("unheardof", knowledge, user) == []
        assert suggest("hidden", user, knowledge) == []  # type: ignore[arg-type]


def test_nothing_is_found_by_strangers_where_the_site_is_its_members(
    write: Write, knowledge: Knowledge, settings: object
) -> None:
    settings.MEMBERS_ONLY = True  # type: ignore[attr-defined]
    index.put_catalogue(knowledge)
    write("here", body="unheardof")
    assert slugs("unheardof", knowledge) == slugs("lora", knowledge) == []
    assert suggest("eight", AnonymousUser(), knowledge) == []
    assert slugs("unheardof", knowledge, member("r", Role.READER)) == ["here"]


@pytest.mark.parametrize("query", ["", "   ", "。！", "'; drop table kb_entry; --", '"', "t:", "a AND", "*", "NEAR("])
def test_marks_and_the_words_of_query_languages_are_harmless(query: str, write: Write, knowledge: Knowledge) -> None:
    write("here")
    assert isinstance(slugs(query, knowledge), list)


def test_two_chinese_letters_inside_a_sentence_are_found(write: Write, knowledge: Knowledge) -> None:
    write("chinese", body="训练到第三步时显存不足, 降低批大小也没有用")
    write("other", body="内存足够")
    assert slugs("显存", knowledge) == slugs("批大", knowledge) == ["chinese"]


def test_a_key_is_found_whole_and_in_parts(write: Write, knowledge: Knowledge) -> None:
    write("keyed", body="Set actor_rollout_ref.rollout.unheardof_size to 8.")
    for query in ("actor_rollout_ref.rollout.unheardof_size", "rollout.unheardof_size", "unheardof", "unheardof_si"):
        assert slugs(query, knowledge) == ["keyed"]


def test_a_misspelt_name_is_read_as_the_nearest_and_said(write: Write, knowledge: Knowledge) -> None:
    write("named", title="Qwen2.5-7B runs out")
    found = find("qwne2.5-7b", AnonymousUser(), knowledge)
    assert "named" in [entry.slug for entry in found.entries]
    assert found.read_as == "qwen2.5-7b"


def test_a_word_that_is_near_to_no_name_finds_nothing(write: Write, knowledge: Knowledge) -> None:
    write("here")
    found = find("zzyzxqqq", AnonymousUser(), knowledge)
    assert (found.entries, found.read_as, found.total) == ((), "", 0)


def test_words_in_the_title_come_first_then_the_newest(write: Write, knowledge: Knowledge) -> None:
    write("body-old", body="about frobnication")
    write("title", title="Frobnication", body="words")
    write("body-new", body="about frobnication")
    assert slugs("frobnication", knowledge) == ["title", "body-new", "body-old"]


def test_an_edit_is_found_at_once_and_what_it_took_out_no_longer(write: Write, knowledge: Knowledge) -> None:
    row = write("here", body="beforeword")
    saving.save(row, document(body="afterword"), row.revision, None, "", knowledge)
    assert slugs("afterword", knowledge) == ["here"]
    assert slugs("beforeword", knowledge) == []


def test_every_kind_of_the_catalogue_is_found_and_its_page_answers(client: Client, knowledge: Knowledge) -> None:
    assert index.put_catalogue(knowledge) > 100
    assert index.put_catalogue(knowledge) == 0
    for query in ("gpu_memory_utilization", "qwen2.5", "A100", "CUDA out of memory", "LoRA"):
        page = client.get(reverse("kb:search"), {"q": query}).content.decode()
        assert 'class="found"' in page, query
    for entry in find("memory", AnonymousUser(), knowledge).entries:
        assert client.get(address(entry)).status_code == 200


def test_loading_what_ships_makes_the_catalogue_findable(knowledge: Knowledge) -> None:
    call_command("load_content")
    assert "offload.param.on" in slugs("offload param on", knowledge)


def test_queries_do_not_grow_with_the_base(
    write: Write, client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        write(f"case-{number}", body="frobnication")
    for name in ("kb:search", "kb:cases"):
        with django_assert_max_num_queries(6):
            assert client.get(reverse(name), {"q": "frobnication"}).status_code == 200


def test_a_log_in_the_search_box_is_handed_to_the_wizard_and_kept_nowhere(client: Client) -> None:
    log = 'Traceback (most recent call last):\n  File "a.py", line 3\ntorch.OutOfMemoryError: CUDA out of memory.'
    answer = client.get(reverse("kb:search"), {"q": log})
    assert answer.headers["Cache-Control"] == "no-store"
    page = answer.content.decode()
    assert "torch.OutOfMemoryError" in page
    assert reverse("wizard:result") in page


def test_pages_of_a_kind_that_only_a_newer_version_has_are_passed_over(client: Client, knowledge: Knowledge) -> None:
    """It puts them in while this version still serves."""
    words = document_tokens("Unheardof recipe", "")
    Entry.objects.create(kind="recipes", slug="soup", title="Unheardof recipe", words=words, digest="x")
    assert slugs("unheardof", knowledge) == []
    for name in ("kb:search", "kb:suggestions"):
        assert client.get(reverse(name), {"q": "unheardof"}).status_code == 200


def test_suggestions_are_titles_that_begin_so(write: Write, client: Client) -> None:
    write("here", title="Frobnication runs out")
    page = client.get(reverse("kb:suggestions"), {"q": "frob ru"}).content.decode()
    assert "Frobnication runs out" in page
    assert client.get(reverse("kb:suggestions"), {"q": "frob xx"}).content.decode().strip() == ""


def test_a_summary_is_a_whole_sentence_in_plain_text() -> None:
    assert first_sentence("## What\n\nEvery role has\n`--its` own card. More.") == "Every role has --its own card"
