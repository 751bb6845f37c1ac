"""Out and in again, byte for byte; and what a folder or a zip may not do."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnose.knowledge import CONTENT, Knowledge
from kb import content, exchange, saving, states
from kb.documents import DocumentError
from kb.markdown import normalise
from kb.models import Document, Event
from tests.kb.conftest import created, document, edited

pytestmark = pytest.mark.django_db


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def archive(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, text in files.items():
            zipped.writestr(name, text)
    return path


@pytest.mark.parametrize(
    "name", ["../cases/out.md", "cases/../../out.md", "/cases/out.md", "cases/a/b.md", "notes/levers.md", "x.md"]
)
def test_a_name_that_leads_out_of_the_zip_is_skipped_and_told(tmp_path: Path, knowledge: Knowledge, name: str) -> None:
    done = exchange.take_in(archive(tmp_path / "in.zip", {name: document()}), knowledge)
    assert done.created == []
    assert len(done.skipped) == 1
    assert sorted(path.name for path in tmp_path.parent.rglob("out.md")) == []


def test_a_link_in_a_folder_is_not_followed(tmp_path: Path, knowledge: Knowledge) -> None:
    (tmp_path / "secret.txt").write_text(document(title="Secret"))
    folder = tmp_path / "in"
    (folder / "cases").mkdir(parents=True)
    (folder / "cases/link.md").symlink_to(tmp_path / "secret.txt")
    (folder / "guides").symlink_to(tmp_path)
    assert exchange.take_in(folder, knowledge).skipped == ["cases/link.md (a link)"]
    assert not Document.objects.exists()


def test_a_file_that_swells_is_refused_and_not_read_whole(tmp_path: Path, knowledge: Knowledge) -> None:
    bomb = archive(tmp_path / "bomb.zip", {"cases/bomb.md": "+++\n" + "x" * 50_000_000})
    with pytest.raises(DocumentError, match="at most|no front matter"):
        exchange.take_in(bomb, knowledge)


def test_too_many_files_are_refused(tmp_path: Path, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "MAX_FILES", 2)
    many = archive(tmp_path / "many.zip", {f"cases/c{number}.md": document() for number in range(3)})
    with pytest.raises(exchange.ExchangeError, match="at most 2"):
        exchange.take_in(many, knowledge)


@pytest.mark.parametrize("broken", [b"PK\x03\x04 and no zip", b""])
def test_the_command_says_what_it_cannot_read(tmp_path: Path, broken: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(broken)
    with pytest.raises(CommandError, match="neither a folder nor a zip"):
        call_command("import", tmp_path / "x.zip")


def test_one_file_that_does_not_fit_is_named_and_the_rest_is_taken(tmp_path: Path, knowledge: Knowledge) -> None:
    given_files = {"cases/bad.md": document(lever="no.such"), "cases/good.md": document(), "cases/New.md": document()}
    with pytest.raises(DocumentError) as refusal:
        exchange.take_in(archive(tmp_path / "in.zip", given_files), knowledge)
    assert {problem.place.split(":")[0] for problem in refusal.value.problems} == {"cases/bad.md", "cases/New.md"}
    assert [row.slug for row in Document.objects.all()] == ["good"]


@pytest.mark.parametrize("encoding", ["gbk", "utf-16"])
def test_a_file_that_is_no_utf_8_is_named_and_not_taken_in_as_other_letters(
    tmp_path: Path, knowledge: Knowledge, encoding: str
) -> None:
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as zipped:
        zipped.writestr("cases/old.md", document(title="显存不足").encode(encoding))
        zipped.writestr("cases/right.md", document(title="显存不足"))
    with pytest.raises(exchange.Unfit, match=r"cases/old\.md: line [12] is no UTF-8: save the file as UTF-8") as unfit:
        exchange.take_in(tmp_path / "in.zip", knowledge)
    assert unfit.value.done.created == ["cases/right"]


def test_a_long_file_is_refused_for_its_length_alone_though_reading_stops_inside_a_letter(
    tmp_path: Path, knowledge: Knowledge
) -> None:
    path = archive(tmp_path / "in.zip", {f"cases/by-{n}.md": "x" * n + "显" * 60_000 for n in range(3)})
    with pytest.raises(exchange.Unfit) as unfit:
        exchange.take_in(path, knowledge)
    assert len(unfit.value.problems) == 3
    assert all("a record has at most 65,536, shorten it" in problem.says for problem in unfit.value.problems)


def test_what_differs_here_is_left_alone_and_named(tmp_path: Path, knowledge: Knowledge) -> None:
    edited(created("first"), document(title="Ours"))
    source = archive(tmp_path / "in.zip", {"cases/first.md": document(title="Theirs")})
    assert exchange.take_in(source, knowledge).left_alone == ["cases/first"]
    assert Document.objects.get().title == "Ours"


def test_with_update_it_becomes_a_new_revision_and_ours_stays_in_the_history(
    tmp_path: Path, knowledge: Knowledge
) -> None:
    row = edited(created("first"), document(title="Ours"))
    source = archive(tmp_path / "in.zip", {"repo-main/cases/first.md": document(title="Theirs")})
    assert exchange.take_in(source, knowledge, update=True).updated == ["cases/first"]
    assert [(revision.title, revision.why) for revision in row.revisions.all()][:2] == [
        ("Theirs", "imported"),
        ("Ours", ""),
    ]


def test_what_lies_in_the_trash_stays_there(tmp_path: Path, knowledge: Knowledge, reviewer: User) -> None:
    states.delete(created("first"), reviewer)
    source = archive(tmp_path / "in.zip", {"cases/first.md": document(title="Again")})
    assert exchange.take_in(source, knowledge, update=True).left_alone == ["cases/first"]


def test_export_says_what_it_skipped_and_what_no_longer_belongs(
    tmp_path: Path, knowledge: Knowledge, editor: User, reviewer: User
) -> None:
    saving.create("cases", "mine", document(), editor, "", knowledge, Document.DRAFT)
    states.delete(created("gone"), reviewer)
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/left.md").write_text("from before")
    done = exchange.export(tmp_path)
    assert done.skipped == ["cases/gone (in the trash)", "cases/mine (draft)"]
    assert done.strays == ["cases/left"]
    assert done.written == []


def test_both_commands_stand_in_the_audit_log(tmp_path: Path, db: None) -> None:
    created("first")
    call_command("export", tmp_path / "out", stdout=io.StringIO())
    call_command("import", tmp_path / "out", stdout=io.StringIO(), stderr=io.StringIO())
    assert [event.action for event in Event.objects.all()] == ["imported", "exported"]


def test_everything_goes_out_and_comes_into_an_empty_base_byte_for_byte(tmp_path: Path, knowledge: Knowledge) -> None:
    content.load(CONTENT, knowledge)
    lever = sorted(knowledge.levers)[0]
    saving.create("notes", f"levers/{lever}", "显存: *works* for us.", None, "", knowledge)
    edited(Document.objects.filter(kind="cases")[0], document(title="“Odd” \\\\ title\u2028 with a line separator"))
    exchange.export(tmp_path / "one")
    Document.objects.all().delete()
    exchange.take_in(tmp_path / "one", knowledge)
    exchange.export(tmp_path / "two")
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    assert len(tree(tmp_path / "one")) == Document.objects.count() > 8


PROSE = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), max_size=300)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=PROSE)
def test_import_of_export_is_the_same_for_any_text(tmp_path: Path, knowledge: Knowledge, words: str) -> None:
    text = normalise(document(body=words))
    Document.objects.all().delete()
    try:
        created("any", text)
    except DocumentError:
        return  # a text that is refused was never there to be exported
    exchange.export(tmp_path)
    assert (tmp_path / "cases/any.md").read_bytes() == text.encode()
    Document.objects.all().delete()
    exchange.take_in(tmp_path, knowledge)
    assert Document.objects.get().text == text
