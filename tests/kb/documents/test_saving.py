"""The one door: what is refused, what is joined, and that no word is lost."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from diagnose.knowledge import Knowledge
from kb import content, documents, saving
from kb.documents import DocumentError
from kb.models import Document, Draft, Entry
from kb.saving import Conflict
from tests.kb.conftest import created, document

pytestmark = pytest.mark.django_db

LINES = "\n\n".join(f"Line {number}." for number in range(1, 9))
BODY = document(body=LINES)


@pytest.fixture
def long(db: None) -> Document:
    """A case with eight paragraphs."""
    return created("long", BODY)


def test_every_misfit_is_told_at_once_and_nothing_is_kept(case: Document, editor: User, knowledge: Knowledge) -> None:
    bad = document(kind="gpu_oomm", lever="no.such", body="[" * 30).replace("n_gpus = 8", 'n_gpus = "many"')
    with pytest.raises(DocumentError) as refusal:
        saving.save(case, bad, 1, editor, "", knowledge)
    for word in ("gpu_oomm", "no.such", "n_gpus", "brackets"):
        assert word in str(refusal.value)
    case.refresh_from_db()
    assert (case.revision, case.revisions.count()) == (1, 1)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('summary = "a\\u0000b"', "control character"),
        ("config = { x = nan }", "write a number"),
        ("config = { x = 99999999999999999999 }", "too large"),
        ("a" + ".a" * 2000 + " = 1", "dots"),
        ("x = " + "[" * 40 + "]" * 40, "nested"),
        ("x = [" + "1, " * 101 + "]", "101 items"),
        ("\n".join(f"k{number} = 1" for number in range(30)), "unknown words"),
    ],
)
def test_what_a_database_or_a_page_cannot_hold_is_refused(
    case: Document, editor: User, knowledge: Knowledge, line: str, says: str
) -> None:
    text = document().replace('summary = "The short of it."', line)
    with pytest.raises(DocumentError, match=says):
        saving.save(case, text, 1, editor, "", knowledge)


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", " JaVaScript:alert(1)", "data:text/html,x", "//a.example", "", "https://"]
)
def test_what_becomes_a_link_must_be_an_address(knowledge: Knowledge, link: str) -> None:
    text = document().replace("https://github.com/example/project/issues/7", link)
    with pytest.raises(DocumentError) as refusal:
        saving.create("cases", "linked", text, None, "", knowledge)
    places = {problem.place.split(": ")[1] for problem in refusal.value.problems}
    assert "sources[0]" in places
    assert link == "" or "claim[0].source" in places


@pytest.mark.parametrize("title", ["", "   ", "x" * 301, "a\\nb"])
def test_a_title_is_one_line_with_words(knowledge: Knowledge, title: str) -> None:
    with pytest.raises(DocumentError, match="one line of 1 to 300"):
        saving.create("cases", "t", document(title=title), None, "", knowledge)


def test_the_line_that_both_changed_is_a_conflict_and_both_texts_stand(
    long: Document, editor: User, other: User, knowledge: Knowledge
) -> None:
    saving.save(long, BODY.replace("Line 4.", "Line four, says Lin."), 1, editor, "", knowledge)
    mine = BODY.replace("Line 4.", "Line four, says Mo.").replace("Line 8.", "Line eight.")
    with pytest.raises(Conflict) as clash:
        saving.save(long, mine, 1, other, "", knowledge)
    region = clash.value.joined.regions[0]
    assert (region.mine, region.theirs) == (("Line four, says Mo.\n",), ("Line four, says Lin.\n",))
    assert clash.value.joined.joined == 1
    assert Draft.objects.get(user=other).text == mine
    long.refresh_from_db()
    assert "says Lin" in long.text


def test_lines_that_join_into_what_does_not_fit_are_a_conflict(
    long: Document, editor: User, other: User, knowledge: Knowledge
) -> None:
    """Both tell the same fact in different places: each text fits, the joined one names it twice."""
    saving.save(long, BODY.replace('model = "Q', 'tp = 2\nmodel = "Q'), 1, editor, "", knowledge)
    with pytest.raises(Conflict) as clash:
        saving.save(long, BODY.replace("n_gpus = 8", "n_gpus = 8\ntp = 4"), 1, other, "", knowledge)
    assert clash.value.joined.regions == ()
    assert "no TOML" in str(clash.value.problems[0])
    assert Draft.objects.get(user=other).typed


def test_changes_in_different_places_join(long: Document, editor: User, other: User, knowledge: Knowledge) -> None:
    saving.save(long, BODY.replace("Line 2.", "Line two."), 1, editor, "", knowledge)
    saved = saving.save(long, BODY.replace("Line 7.", "Line seven."), 1, other, "mine", knowledge)
    assert saved.merged
    assert saved.revision
    assert (saved.revision.number, saved.revision.base, saved.revision.merged) == (3, 1, True)
    assert "Line two." in saved.document.text
    assert "Line seven." in saved.document.text


def test_the_same_change_by_two_people_is_one(long: Document, editor: User, other: User, knowledge: Knowledge) -> None:
    text = BODY.replace("Line 2.", "Line two.")
    saving.save(long, text, 1, editor, "", knowledge)
    assert saving.save(long, text, 1, other, "", knowledge).revision is None
    assert long.revisions.count() == 2


def test_the_same_text_is_no_new_revision(case: Document, editor: User, knowledge: Knowledge) -> None:
    assert saving.save(case, case.text.replace("\n", "\r\n"), 1, editor, "", knowledge).revision is None
    assert case.revisions.count() == 1


def test_ones_own_form_sent_twice_is_saved_once(long: Document, editor: User, knowledge: Knowledge) -> None:
    text = BODY.replace("Line 4.", "Line four.")
    saving.save(long, text, 1, editor, "", knowledge)
    assert saving.save(long, text, 1, editor, "", knowledge).revision is None
    assert long.revisions.count() == 2


def test_ones_own_second_tab_joins(long: Document, editor: User, knowledge: Knowledge) -> None:
    saving.save(long, BODY.replace("Line 2.", "Line two."), 1, editor, "", knowledge)
    saved = saving.save(long, BODY.replace("Line 7.", "Line seven."), 1, editor, "", knowledge)
    assert "Line two." in saved.document.text


def test_the_line_that_ones_own_two_tabs_changed_is_a_conflict_and_takes_nothing_away(
    long: Document, editor: User, knowledge: Knowledge
) -> None:
    """The first tab adds a section too: the second, which never had it, must not take it out."""
    first = BODY.replace("Line 4.", "Line four, at first.") + "\n## Evidence\n\nA section.\n"
    saving.save(long, first, 1, editor, "", knowledge)
    mine = BODY.replace("Line 4.", "Line four, at last.")
    with pytest.raises(Conflict) as clash:
        saving.save(long, mine, 1, editor, "", knowledge)
    region = clash.value.joined.regions[0]
    assert (region.mine, region.theirs) == (("Line four, at last.\n",), ("Line four, at first.\n",))
    assert "A section." in clash.value.joined.text()
    assert Draft.objects.get(user=editor).text == mine
    long.refresh_from_db()
    assert long.text == first


def test_a_second_tab_with_a_colleagues_save_between_takes_nothing_of_hers(
    long: Document, editor: User, other: User, knowledge: Knowledge
) -> None:
    mine = BODY.replace("Line 4.", "Line four.")
    saving.save(long, mine, 1, editor, "", knowledge)
    saving.save(long, mine.replace("Line 8.", "Line eight."), 2, other, "", knowledge)
    saved = saving.save(long, mine.replace("Line 6.", "Line six!"), 1, editor, "", knowledge)
    for words in ("Line four.", "Line six!", "Line eight."):
        assert words in saved.document.text


def test_a_form_sent_twice_makes_one_document(editor: User, knowledge: Knowledge) -> None:
    first = saving.create("cases", "", document(), editor, "", knowledge)
    again = saving.create("cases", "", document(), editor, "", knowledge)
    assert first.document == again.document
    assert again.revision is None


def test_a_base_that_never_was_takes_nothing_away(long: Document, editor: User, knowledge: Knowledge) -> None:
    with pytest.raises(Conflict):
        saving.save(long, BODY.replace("Line 4.", "Line four."), 99, editor, "", knowledge)
    assert Draft.objects.get(user=editor).typed


def test_an_address_is_made_of_the_title_and_of_the_text_where_there_are_no_latin_letters(knowledge: Knowledge) -> None:
    assert saving.create("cases", "", document(title="Two: cards"), None, "", knowledge).document.slug == "two-cards"
    chinese = saving.create("cases", "", document(title="显存不足"), None, "", knowledge).document.slug
    assert chinese.startswith("case-")


def test_what_lists_narrow_by_follows_from_the_text(case: Document, editor: User, knowledge: Knowledge) -> None:
    assert (case.gpu_model, case.model_size, case.outcome) == ("a100", "to-9b", "solved")
    text = document().replace("solved = true\n", "").replace("worked = true", "worked = false")
    row = saving.save(case, text.replace("Qwen2.5-7B", "someone/New-32B"), 1, editor, "", knowledge).document
    assert (row.model_size, row.outcome) == ("to-40b", "failed")


def test_a_saved_document_is_found_at_once(case: Document, editor: User, knowledge: Knowledge) -> None:
    saving.save(case, document(title="Zebra stripes"), 1, editor, "", knowledge)
    assert Entry.objects.get(document=case).title == "Zebra stripes"


def test_a_note_stands_on_a_page_of_the_catalogue(editor: User, knowledge: Knowledge) -> None:
    lever = sorted(knowledge.levers)[0]
    note = saving.create("notes", f"levers/{lever}", "Worked for us.", editor, "", knowledge).document
    assert note.title == knowledge.levers[lever].title
    for slug in ("levers/no.such", "cases/first", "questions/phase"):
        with pytest.raises(DocumentError):
            saving.create("notes", slug, "Words.", editor, "", knowledge)


def test_the_history_begins_with_what_shipped(db: None, knowledge: Knowledge) -> None:
    content.load(content_folder(), knowledge)
    revision = Document.objects.get(slug="which-pool-ran-out").revisions.get()
    assert (revision.author_name, revision.why) == ("Headroom", f"shipped with {content.version()}")


def content_folder():  # type: ignore[no-untyped-def]
    from diagnose.knowledge import CONTENT

    return CONTENT


def test_an_address_is_made_of_a_title_and_told_from_others_where_letters_are_lost() -> None:
    assert documents.slug_for("cases", "Résumé: vLLM’s 2nd OOM", "a") == "resume-vllms-2nd-oom"
    one, other = (documents.slug_for("cases", title, title) for title in ("vLLM 启动失败", "vLLM 显存增长"))
    assert one.startswith("vllm-")
    assert len({one, other, documents.slug_for("cases", "显存", "b")}) == 3
