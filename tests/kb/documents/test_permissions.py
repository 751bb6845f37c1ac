"""Who may not: every address of writing, for everybody who should be turned away."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from diagnose.knowledge import Knowledge, current
from kb import saving, states
from kb.documents import DocumentError
from kb.models import Document, OldSlug
from tests.kb.conftest import created, document
from tests.kb.documents.conftest import signed_in

pytestmark = pytest.mark.django_db
SECRET = "nobody-else-may-read-this"
ON_A_DOCUMENT = ("edit", "draft", "history", "diff", "restore", "state", "rename")
POSTED = {"draft", "restore", "state", "rename"}


def ask(client: Client, name: str, row: Document, **data: str) -> HttpResponse:
    address = reverse(f"kb:{name}", args=[row.kind, row.slug])
    given = {"text": row.text, "number": "1", "newest": "1", "do": "publish", "slug": "taken-over", **data}
    return client.post(address, given) if name in POSTED else client.get(address)


@pytest.fixture
def hidden(editor: User) -> Document:
    """A draft of Lin's."""
    text = document(title=SECRET, body=SECRET)
    return saving.create("cases", "hidden", text, editor, "", current(), Document.DRAFT).document


@pytest.mark.parametrize("name", ON_A_DOCUMENT)
def test_an_editors_draft_is_not_there_for_another_editor(hidden: Document, other: User, name: str) -> None:
    answer = ask(signed_in(other), name, hidden)
    assert answer.status_code == 404
    assert SECRET not in answer.content.decode()


@pytest.mark.parametrize("name", ON_A_DOCUMENT)
def test_a_draft_is_not_there_for_a_reader(hidden: Document, reader: User, name: str) -> None:
    assert ask(signed_in(reader), name, hidden).status_code == 404


@pytest.mark.parametrize("name", ON_A_DOCUMENT)
def test_a_visitor_sees_nothing_of_a_draft(hidden: Document, client: Client, name: str) -> None:
    answer = ask(client, name, hidden, text="A visitor's own words.")
    assert answer.status_code in (302, 401, 404)
    assert SECRET not in answer.content.decode()


@pytest.mark.parametrize("path", ["/cases/hidden/", "/cases/", "/drafts/", "/trash/", "/guides/"])
def test_no_page_of_another_editor_names_a_draft(hidden: Document, other: User, path: str) -> None:
    assert SECRET not in signed_in(other).get(path).content.decode()


def test_its_author_and_a_reviewer_see_a_draft(hidden: Document, editor: User, reviewer: User) -> None:
    for user in (editor, reviewer):
        assert SECRET in signed_in(user).get("/cases/hidden/").content.decode()
        assert SECRET in signed_in(user).get("/drafts/").content.decode()


def test_an_old_address_of_a_draft_leads_nobody_else_to_it(hidden: Document, editor: User, other: User) -> None:
    states.rename(hidden, "hidden-better", None, current())
    assert signed_in(other).get("/cases/hidden/").status_code == 404
    assert signed_in(editor).get("/cases/hidden/").status_code == 301


@pytest.mark.parametrize("name", ["edit", "draft", "restore", "state", "rename"])
def test_a_reader_changes_nothing(case: Document, reader: User, name: str) -> None:
    assert ask(signed_in(reader), name, case).status_code == 403
    case.refresh_from_db()
    assert (case.revision, case.slug) == (1, "first")


@pytest.mark.parametrize("name", ["edit", "draft", "restore", "state", "rename"])
def test_a_visitor_is_asked_to_sign_in(case: Document, client: Client, name: str) -> None:
    answer = ask(client, name, case)
    assert answer.status_code == (302 if name == "edit" else 401)
    asked = answer.headers.get("Location", "") or answer.content.decode()
    assert f"{reverse('account_login')}?next=" in asked
    case.refresh_from_db()
    assert (case.revision, case.slug) == (1, "first")


@pytest.mark.parametrize("address", ["document_new", "preview", "draft_new"])
def test_a_reader_writes_nothing_new(reader: User, address: str) -> None:
    post = signed_in(reader).post(reverse(f"kb:{address}", args=["cases"]), {"text": document(), "do": "publish"})
    assert post.status_code == 403
    assert not Document.objects.exists()


@pytest.mark.parametrize("do", ["review", "unpublish", "delete", "purge"])
def test_an_editor_neither_reviews_nor_deletes_what_is_published(case: Document, editor: User, do: str) -> None:
    assert ask(signed_in(editor), "state", case, do=do).status_code == 403
    case.refresh_from_db()
    assert (case.state, case.reviewed) == (Document.PUBLISHED, 0)


def test_a_note_is_no_draft(reviewer: User) -> None:
    lever = f"levers/{next(iter(current().levers))}"
    note = saving.create("notes", lever, "Ours.\n", reviewer, "", current()).document
    assert ask(signed_in(reviewer), "state", note, do="unpublish").status_code == 403


def test_a_reviewer_does_not_purge(case: Document, reviewer: User) -> None:
    states.delete(case, reviewer)
    assert ask(signed_in(reviewer), "state", case, do="purge").status_code == 403
    assert Document.objects.filter(pk=case.pk).exists()


@pytest.mark.parametrize("name", ["edit", "draft", "restore", "rename"])
def test_nobody_changes_what_lies_in_the_trash(case: Document, admin: User, name: str) -> None:
    states.delete(case, admin)
    assert ask(signed_in(admin), name, case).status_code == 403


def test_a_save_that_comes_after_the_deletion_is_refused(
    case: Document, editor: User, reviewer: User, knowledge: Knowledge
) -> None:
    states.delete(case, reviewer)
    with pytest.raises(DocumentError, match="in the trash by now"):
        saving.save(case, document(title="Too late"), 1, editor, "", knowledge)


@pytest.mark.parametrize("path", ["/cases/first/edit/", "/cases/first/history/", "/cases/first/diff/"])
def test_a_site_for_members_shows_a_visitor_nothing(
    case: Document, client: Client, settings: object, path: str
) -> None:
    settings.MEMBERS_ONLY = True  # type: ignore[attr-defined]
    answer = client.get(path)
    assert answer.status_code == 302
    assert case.title not in answer.content.decode()


@pytest.mark.parametrize("name", ["restore", "state", "rename", "draft"])
def test_a_link_cannot_change_a_document(case: Document, admin: User, name: str) -> None:
    assert signed_in(admin).get(reverse(f"kb:{name}", args=["cases", "first"])).status_code == 405


def test_a_form_from_another_site_changes_nothing(case: Document, admin: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin)
    assert ask(client, "state", case, do="delete").status_code == 403


@pytest.mark.parametrize("slug", ["new", "First", "a/b", "..", "x.json", "", "-x", "a" * 101])
def test_an_address_that_cannot_be_is_refused(case: Document, knowledge: Knowledge, slug: str) -> None:
    with pytest.raises(DocumentError, match="is no address"):
        states.rename(case, slug, None, knowledge)


def test_an_address_that_another_had_is_refused(case: Document, knowledge: Knowledge) -> None:
    second = created("second")
    states.rename(case, "renamed", None, knowledge)
    with pytest.raises(DocumentError, match="“first” is taken"):
        states.rename(second, "first", None, knowledge)
    with pytest.raises(DocumentError, match="“first” is taken"):
        saving.create("cases", "first", document(), None, "", knowledge)
    assert OldSlug.objects.get().document == case
