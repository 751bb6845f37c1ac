"""History, diff, going back, states and addresses."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from diagnose.knowledge import Knowledge, current
from kb import saving, states
from kb.models import Document, Event
from tests.kb.conftest import created, document, edited
from tests.kb.documents.conftest import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def changed(case: Document, editor: User, knowledge: Knowledge) -> Document:
    """Two revisions; Lin wrote the second."""
    return saving.save(
        case, document(title="Nine cards", framework="plain"), 1, editor, "one more card", knowledge
    ).document


@pytest.mark.parametrize("query", ["from=7&to=1", "from=x", "to=-1", "to=99999999999999999999", "from=²"])
def test_a_revision_that_is_not_there_is_404(changed: Document, client: Client, query: str) -> None:
    assert client.get(f"/cases/first/diff/?{query}").status_code == 404


def test_a_restore_that_somebody_overtook_changes_nothing(changed: Document, editor: User) -> None:
    signed_in(editor).post("/cases/first/restore/", {"number": "1", "newest": "1"})
    assert Document.objects.get().revision == 2


def test_a_text_that_no_longer_passes_is_opened_in_the_editor(changed: Document, editor: User) -> None:
    changed.revisions.filter(number=1).update(text=document(lever="gone.by.now"))
    client = signed_in(editor)
    answer = client.post("/cases/first/restore/", {"number": "1", "newest": "2"}, follow=True)
    assert answer.redirect_chain[-1][0] == "/cases/first/edit/?from=1"
    assert "gone.by.now" in answer.content.decode()
    assert Document.objects.get().revision == 2


def test_a_review_of_an_overtaken_revision_is_none(changed: Document, reviewer: User) -> None:
    signed_in(reviewer).post("/cases/first/state/", {"do": "review", "number": "1"})
    assert Document.objects.get().reviewed == 0


@pytest.mark.parametrize("do", ["", "explode", "PUBLISH"])
def test_a_deed_that_nobody_knows_is_refused(case: Document, admin: User, do: str) -> None:
    assert signed_in(admin).post("/cases/first/state/", {"do": do}).status_code == 400


def test_the_history_tells_who_when_and_why(changed: Document, client: Client) -> None:
    page = client.get("/cases/first/history/").content.decode()
    assert "lin" in page
    assert "one more card" in page


def test_a_diff_tells_the_fields_and_marks_the_words(changed: Document, client: Client) -> None:
    answer = client.get("/cases/first/diff/?from=1&to=2")
    assert {change.field for change in answer.context["fields"]} == {"title", "facts.framework"}
    assert "<mark>Nine cards</mark>" in answer.content.decode() or "<mark>Nine</mark>" in answer.content.decode()


def test_a_restored_text_is_a_new_revision(changed: Document, editor: User) -> None:
    signed_in(editor).post("/cases/first/restore/", {"number": "1", "newest": "2"})
    row = Document.objects.get()
    assert (row.revision, row.text) == (3, document())
    assert row.revisions.first().why == "revision 1 restored"  # type: ignore[union-attr]


def test_a_page_says_that_it_changed_since_its_review(changed: Document, reviewer: User, client: Client) -> None:
    signed_in(reviewer).post("/cases/first/state/", {"do": "review", "number": "2"})
    assert "Reviewed at revision 2, the present one" in client.get("/cases/first/").content.decode()
    edited(Document.objects.get(), document(body="New words."))
    assert "Reviewed at revision 2, <a" in client.get("/cases/first/").content.decode()


def test_a_page_names_its_writers(changed: Document, client: Client) -> None:
    assert "Written by lin; " in client.get("/cases/first/").content.decode()


def test_a_name_stays_in_the_history_when_the_account_goes(changed: Document, editor: User, client: Client) -> None:
    editor.delete()
    assert "Written by lin; " in client.get("/cases/first/").content.decode()


def test_from_draft_to_page(editor: User, client: Client, knowledge: Knowledge) -> None:
    saving.create("cases", "first", document(), editor, "", knowledge, Document.DRAFT)
    signed_in(editor).post("/cases/first/state/", {"do": "publish"})
    assert client.get("/cases/first/").status_code == 200


def test_a_page_becomes_a_draft_again_and_its_history_says_by_whom(editor: User, client: Client) -> None:
    saving.create("cases", "first", document(), editor, "", current())
    lin = signed_in(editor)
    lin.post("/cases/first/state/", {"do": "unpublish"})
    assert Document.objects.get().state == Document.DRAFT
    assert client.get("/cases/first/").status_code == 404
    assert "<b>unpublished</b> by lin" in lin.get("/cases/first/history/").content.decode()
    lin.post("/cases/first/state/", {"do": "publish"})
    assert client.get("/cases/first/").status_code == 200
    assert [event.action for event in Event.objects.all()] == ["published", "unpublished"]


def test_a_step_that_is_done_already_is_noted_once(case: Document, reviewer: User) -> None:
    states.unpublish(case, reviewer)
    states.unpublish(case, reviewer)
    assert Event.objects.count() == 1


def test_a_rename_is_told_in_the_log_and_in_the_history(case: Document, editor: User, client: Client) -> None:
    signed_in(editor).post("/cases/first/rename/", {"slug": "better"})
    event = Event.objects.get()
    assert (event.actor, event.action, event.what) == ("lin", "renamed", "cases/better")
    assert event.detail == "“Eight cards run out”, before: cases/first"
    signed_in(editor).post("/cases/better/rename/", {"slug": "best"})
    history = client.get("/cases/best/history/").content.decode()
    assert "<code>cases/better</code>" in history
    assert "<code>cases/best</code>" in history


def test_the_history_of_another_page_at_a_purged_address_is_its_own(case: Document, admin: User) -> None:
    states.delete(case, admin)
    states.purge(case, admin)
    created("first")
    assert "What became" not in signed_in(admin).get("/cases/first/history/").content.decode()


def test_what_is_deleted_comes_back_by_the_toast(case: Document, reviewer: User) -> None:
    ana = signed_in(reviewer)
    page = ana.post("/cases/first/state/", {"do": "delete"}, follow=True).content.decode()
    toast = page.partition('class="toast"')[2]
    assert 'action="/cases/first/state/"' in toast
    assert 'value="fetch_back">Undo' in toast
    assert "Undo" not in ana.get("/trash/").content.decode()


def test_from_page_to_trash_and_back(case: Document, reviewer: User, client: Client) -> None:
    ana = signed_in(reviewer)
    ana.post("/cases/first/state/", {"do": "delete"})
    assert client.get("/cases/first/").status_code == 404
    assert "In the trash" in ana.get("/cases/first/").content.decode()
    ana.post("/cases/first/state/", {"do": "fetch_back"})
    assert client.get("/cases/first/").status_code == 200
    assert [event.action for event in Event.objects.all()] == ["restored", "deleted"]


def test_a_draft_that_was_thrown_away_comes_back_as_a_draft(editor: User, knowledge: Knowledge) -> None:
    saving.create("cases", "first", document(), editor, "", knowledge, Document.DRAFT)
    lin = signed_in(editor)
    lin.post("/cases/first/state/", {"do": "delete"})
    lin.post("/cases/first/state/", {"do": "fetch_back"})
    assert Document.objects.get().state == Document.DRAFT


def test_a_purge_takes_the_history_along_and_is_told_in_the_log(case: Document, admin: User) -> None:
    states.delete(case, admin)
    signed_in(admin).post("/cases/first/state/", {"do": "purge"})
    assert not Document.objects.exists()
    assert Event.objects.first().action == "purged"  # type: ignore[union-attr]


def test_an_admin_is_told_that_a_purged_page_which_ships_comes_back(case: Document, admin: User) -> None:
    ida, words = signed_in(admin), "comes back at the next start"
    states.delete(case, admin)
    assert words not in ida.get("/trash/").content.decode()
    Document.objects.update(shipped_digest=case.digest)
    assert words in ida.get("/trash/").content.decode()
    assert words in ida.post("/cases/first/state/", {"do": "purge"}, follow=True).content.decode()


def test_the_history_says_who_reviewed_which_revision(case: Document, reviewer: User, client: Client) -> None:
    signed_in(reviewer).post("/cases/first/state/", {"do": "review", "number": 1})
    assert "<b>reviewed</b> by ana: revision 1" in client.get("/cases/first/history/").content.decode()


def test_a_review_of_an_older_revision_is_none(case: Document, reviewer: User) -> None:
    signed_in(reviewer).post("/cases/first/state/", {"do": "review", "number": 0})
    assert not Event.objects.exists()


def test_only_what_lies_in_the_trash_can_be_purged(case: Document, admin: User) -> None:
    signed_in(admin).post("/cases/first/state/", {"do": "purge"})
    assert Document.objects.exists()


@pytest.mark.parametrize("part", ["", "history/", "diff/?from=1&to=1"])
def test_an_old_address_leads_to_the_new_one_for_good(case: Document, editor: User, client: Client, part: str) -> None:
    signed_in(editor).post("/cases/first/rename/", {"slug": "better"})
    signed_in(editor).post("/cases/better/rename/", {"slug": "best"})
    for old in ("first", "better"):
        answer = client.get(f"/cases/{old}/{part}")
        assert (answer.status_code, answer.headers["Location"]) == (301, f"/cases/best/{part}")


def test_a_document_may_go_back_to_its_old_address(case: Document) -> None:
    states.rename(case, "better", None, current())
    states.rename(Document.objects.get(), "first", None, current())
    assert Document.objects.get().slug == "first"
    assert [old.slug for old in Document.objects.get().old_slugs.all()] == ["better"]


def test_a_guide_lists_and_shows(client: Client, knowledge: Knowledge) -> None:
    text = (
        '+++\ntitle = "How to read it"\nreviewed = 2026-11-01\nsources = ["https://a.example/"]\n+++\nFirst *look*.\n'
    )
    saving.create("guides", "", text, None, "", knowledge)
    assert "How to read it" in client.get("/guides/").content.decode()
    assert "First <em>look</em>." in client.get("/guides/how-to-read-it/").content.decode()


def test_a_renamed_document_that_shipped_is_loaded_no_second_time(
    case: Document, tmp_path, knowledge: Knowledge
) -> None:  # type: ignore[no-untyped-def]
    from kb import content

    states.rename(case, "ours", None, knowledge)
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/first.md").write_text(document(title="A newer one"))
    assert content.load(tmp_path, knowledge).left_alone == ["cases/first"]
    assert Document.objects.get().slug == "ours"


def test_the_queries_of_a_history_do_not_grow(case: Document, client: Client, django_assert_max_num_queries) -> None:  # type: ignore[no-untyped-def]
    row = case
    for number in range(30):
        row = edited(row, document(body=f"Step {number}."))
    created("another")
    with django_assert_max_num_queries(6):
        client.get("/cases/first/history/")
