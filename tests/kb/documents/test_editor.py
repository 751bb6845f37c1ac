"""The editor without a browser: what is kept, what is told, and what each button does."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from pytest_django import DjangoAssertNumQueries

from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Case
from kb import comments, documents, drafts, pace, page_tools, saving, starters
from kb.models import Document, Draft
from tests.kb.conftest import document, edited
from tests.kb.documents.conftest import signed_in
from tests.live import ROOT

pytestmark = pytest.mark.django_db
EDIT, DRAFT = "/cases/first/edit/", "/cases/first/draft/"


def test_a_save_that_does_not_fit_shows_every_misfit_with_its_line_and_keeps_the_words(
    case: Document, editor: User
) -> None:
    bad = case.text.replace("n_gpus = 8", 'n_gpus = "many"').replace("## Symptom", "## Symptoms")
    answer = signed_in(editor).post(EDIT, {"text": bad, "base": "1", "why": "kept as well"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert {finding.field for finding in answer.context["findings"]} == {"facts.n_gpus", "body"}
    assert all(
        bad.split("\n")[finding.line - 1].startswith(("n_gpus", "## S")) for finding in answer.context["findings"]
    )
    assert "n_gpus = &quot;many&quot;" in page
    assert 'value="kept as well"' in page
    assert Document.objects.get().revision == 1


def test_what_the_editor_shows_of_fixes_and_claims_fits(editor: User, knowledge: Knowledge) -> None:
    page = signed_in(editor).get("/cases/new/").content.decode()
    assert escape(starters.BLOCKS) in page
    begun = starters.text("cases").replace('title = ""', 'title = "Ours"').replace('  "",', '  "https://wiki/7",')
    record = documents.read("cases", "ours", begun.replace("+++\n## ", f"\n{starters.BLOCKS}+++\n## "), knowledge)
    assert isinstance(record, Case)
    assert (record.fixes[0].worked, record.claims[0].verdict) == (True, "confirmed")


@pytest.mark.parametrize("base", ["", "x", "-1", "9" * 30, "²"])
def test_a_base_that_is_no_number_is_no_error(case: Document, editor: User, base: str) -> None:
    answer = signed_in(editor).post(EDIT, {"text": case.text.replace("step 3", "step 4"), "base": base})
    assert answer.status_code == 409
    assert "step 4" in Draft.objects.get().text


@pytest.mark.parametrize("size", [65 * 1024, 3_000_000])
def test_a_text_that_is_too_long_comes_back_whole(case: Document, editor: User, size: int) -> None:
    answer = signed_in(editor).post(EDIT, {"text": case.text + "x" * size, "base": "1"})
    assert answer.status_code == 422
    assert "x" * size in answer.content.decode()


def test_previews_are_counted(case: Document, editor: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_asked", {})
    client, address = signed_in(editor), reverse("kb:preview", args=["cases"])
    codes = [client.post(address, {"text": "x"}).status_code for _ in range(pace.PREVIEWS + 1)]
    assert codes == [200] * pace.PREVIEWS + [429]


def test_a_preview_keeps_nothing(case: Document, editor: User) -> None:
    signed_in(editor).post(reverse("kb:preview", args=["cases"]), {"text": document(title="Only looked at")})
    assert not Draft.objects.exists()
    assert Document.objects.get().revision == 1


def test_an_editor_that_is_only_open_is_no_draft_and_tells_the_others(
    case: Document, editor: User, other: User
) -> None:
    signed_in(other).post(DRAFT, {"text": case.text, "base": "1"})
    assert not Draft.objects.get().typed
    assert "mo is editing too" in signed_in(editor).post(DRAFT, {"text": case.text, "base": "1"}).content.decode()


def test_who_left_two_minutes_ago_is_not_editing(case: Document, editor: User, other: User) -> None:
    drafts.keep(other, case.text, 1, document=case)
    Draft.objects.update(seen=timezone.now() - timedelta(minutes=2, seconds=1))
    assert drafts.others(editor, case) == []


def test_an_old_window_that_is_still_open_makes_no_draft(case: Document, editor: User, other: User) -> None:
    """It sends the text that it began with, which is not the newest any more."""
    old = case.text
    edited(case, document(title="Newer"))
    signed_in(editor).post(DRAFT, {"text": old, "base": "1"})
    assert drafts.find(editor, case) is None


def test_somebody_elses_save_is_told_while_one_types(
    case: Document, editor: User, other: User, knowledge: Knowledge
) -> None:
    saving.save(case, document(title="Newer"), 1, other, "", knowledge)
    page = signed_in(editor).post(DRAFT, {"text": document(body="mine"), "base": "1"}).content.decode()
    assert "mo saved revision 2" in page


def test_a_save_forgets_the_draft(case: Document, editor: User) -> None:
    client, text = signed_in(editor), document(body="mine")
    client.post(DRAFT, {"text": text, "base": "1"})
    assert "your words of" in client.get(EDIT).content.decode()
    assert client.post(EDIT, {"text": text, "base": "1"}).status_code == 302
    assert not Draft.objects.exists()


def test_what_is_kept_behind_its_own_save_is_no_draft(case: Document, editor: User) -> None:
    client, text = signed_in(editor), document(body="mine")
    assert client.post(EDIT, {"text": text, "base": "1"}).status_code == 302
    client.post(DRAFT, {"text": text, "base": "1"})
    assert "Not saved yet" not in client.get(EDIT).content.decode()
    client.post(DRAFT, {"text": text.replace("mine", "mine, and more"), "base": "1"})
    assert "Not saved yet" in (page := client.get(EDIT).content.decode())
    assert "revision 2 was saved since" in page


def test_facts_are_told_beside_what_keeps_the_case_from_being_read(case: Document, editor: User) -> None:
    bad = case.text.replace("n_gpus = 8", 'n_gpus = "many"\nno_such_fact = 1').replace(
        "worked = true", 'worked = "yes"'
    )
    answer = signed_in(editor).post(EDIT, {"text": bad, "base": "1"})
    fields = {finding.field for finding in answer.context["findings"]}
    assert fields == {"facts.n_gpus", "facts.no_such_fact", "fix[0].worked"}


def test_a_new_page_is_recovered_too(editor: User) -> None:
    client = signed_in(editor)
    client.post(reverse("kb:draft_new", args=["cases"]), {"text": document(title="Half of it")})
    assert "Half of it" in client.get("/cases/new/").content.decode()
    client.post("/cases/new/", {"text": document(title="Half of it"), "do": "draft"})
    assert not Draft.objects.exists()
    assert Document.objects.get().state == Document.DRAFT


def test_what_is_kept_is_told_behind_what_stands_before_it(case: Document, editor: User) -> None:
    client = signed_in(editor)
    of_new = client.post(reverse("kb:draft_new", args=["cases"]), {"text": document(title="Half")})
    of_old = client.post(DRAFT, {"text": f"{case.text}More.\n", "base": "1"})
    assert of_new.content.decode().strip().startswith("draft kept")
    assert of_old.content.decode().strip().startswith("· draft kept")


def test_the_preview_shows_the_fixes_with_their_outcome(editor: User, knowledge: Knowledge) -> None:
    tried = next(case for case in knowledge.cases.values() if any(fix.worked for fix in case.fixes))
    text = (ROOT / "content/cases" / f"{tried.slug}.md").read_text(encoding="utf-8")
    page = signed_in(editor).post(reverse("kb:preview", args=["cases"]), {"text": text}).content.decode()
    assert "1 worked" in page
    assert escape(tried.fixes[0].detail) in page


def test_nobody_sees_another_persons_unsaved_words(case: Document, editor: User, other: User) -> None:
    drafts.keep(editor, document(title="Unsaved words"), 1, document=case)
    for path in ("/drafts/", EDIT, "/cases/first/", "/cases/first/history/"):
        assert "Unsaved words" not in signed_in(other).get(path).content.decode()


def test_a_form_field_is_saved_with_the_text(case: Document, editor: User) -> None:
    given = {"text": case.text, "base": "1", "was": '{"facts.n_gpus": "8"}', "f.facts.n_gpus": "16"}
    signed_in(editor).post(EDIT, given)
    assert Document.objects.get().text == case.text.replace("n_gpus = 8", "n_gpus = 16")


def test_joining_takes_the_choices_and_saves_nothing_yet(
    case: Document, editor: User, other: User, knowledge: Knowledge
) -> None:
    saving.save(case, document(body="theirs"), 1, other, "", knowledge)
    given = {"text": document(body="mine"), "base": "1", "theirs": "2", "region-0": "theirs", "do": "join"}
    answer = signed_in(editor).post(EDIT, given)
    assert answer.context["typed"].text == document(body="theirs")
    assert answer.context["typed"].base == 2
    assert Document.objects.get().revision == 2


def test_choices_made_before_a_third_save_are_asked_again(
    case: Document, editor: User, other: User, knowledge: Knowledge
) -> None:
    row = saving.save(case, document(body="theirs"), 1, other, "", knowledge).document
    saving.save(row, document(body="theirs again"), 2, other, "", knowledge)
    given = {"text": document(body="mine"), "base": "1", "theirs": "2", "region-0": "mine", "do": "join"}
    answer = signed_in(editor).post(EDIT, given)
    assert answer.status_code == 409
    assert Document.objects.get().text == document(body="theirs again")


def test_a_note_is_written_on_its_page_and_shown_there(editor: User, knowledge: Knowledge) -> None:
    lever, client = sorted(knowledge.levers)[0], signed_in(editor)
    assert client.get("/notes/new/?slug=levers/no.such").status_code == 404
    answer = client.post(f"/notes/new/?slug=levers/{lever}", {"text": "Helped on *two* machines.", "do": "publish"})
    assert answer.headers["Location"] == f"/levers/{lever}/#team-note"
    assert "Helped on <em>two</em> machines." in client.get(f"/levers/{lever}/").content.decode()
    assert client.get(f"/notes/new/?slug=levers/{lever}").headers["Location"] == f"/notes/levers/{lever}/edit/"


def test_what_stands_beside_a_page_is_asked_for_only_where_it_is(
    case: Document, editor: User, knowledge: Knowledge, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(2):  # what there is, near cases
        page_tools.tools(case, AnonymousUser())
    comments.add(case, "Worked for me.", editor)
    for number in range(12):
        text = document(body=f"Step {number}.")
        case = saving.save(case, text, case.revision, editor, "", knowledge).document
    with django_assert_num_queries(5):  # and the remarks, the writers, whether this member watches it
        shown = page_tools.tools(case, editor)
    assert shown["writers"] == (editor.username,)
    assert len(shown["remarks"]) == 1
