"""Shipped cases into the database, without ever overwriting a team's edit."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from diagnose.knowledge import Knowledge
from kb import content, markdown
from kb.documents import DocumentError
from kb.models import Document, Event
from tests.kb.conftest import created, document, edited

pytestmark = pytest.mark.django_db


def test_it_refuses_a_file_that_does_not_fit_and_names_file_and_field(folder: Path, knowledge: Knowledge) -> None:
    (folder / "cases/second.md").write_text(document(lever="no.such.lever"))
    with pytest.raises(DocumentError) as refusal:
        content.load(folder, knowledge)
    assert "cases/second.md: fix[0].lever: unknown lever “no.such.lever”" in str(refusal.value)
    assert Document.objects.filter(slug="first").exists()


def test_the_command_refuses_in_words(folder: Path) -> None:
    (folder / "cases/second.md").write_text("no front matter")
    with pytest.raises(CommandError, match="begin the file with a line"):
        call_command("load_content", folder=folder)


def test_it_loads_once(folder: Path, knowledge: Knowledge) -> None:
    assert content.load(folder, knowledge).created == ["cases/first"]
    before = Document.objects.values().get()
    again = content.load(folder, knowledge)
    assert (again.unchanged, again.created, again.updated) == (["cases/first"], [], [])
    assert Document.objects.values().get() == before


def test_it_updates_what_nobody_edited(folder: Path, knowledge: Knowledge) -> None:
    content.load(folder, knowledge)
    (folder / "cases/first.md").write_text(document(title="Nine cards run out"))
    assert content.load(folder, knowledge).updated == ["cases/first"]
    assert Document.objects.get().title == "Nine cards run out"


def test_it_leaves_a_teams_edit_alone_and_says_so(folder: Path, knowledge: Knowledge) -> None:
    content.load(folder, knowledge)
    edited(Document.objects.get(), document(title="Our words"))
    (folder / "cases/first.md").write_text(document(title="Nine cards run out"))
    said = StringIO()
    call_command("load_content", folder=folder, stdout=said)
    assert Document.objects.get().title == "Our words"
    assert "changed here and left alone: cases/first" in said.getvalue()


def test_the_audit_log_names_what_an_upgrade_left_alone(folder: Path, knowledge: Knowledge) -> None:
    content.load(folder, knowledge)
    edited(Document.objects.get(), document(title="Our words"))
    (folder / "cases/second.md").write_text(document(title="New in this version"))
    content.load(folder, knowledge)
    event = Event.objects.filter(action="imported").first()
    assert event
    assert event.detail.endswith("left alone: cases/first")


def test_it_leaves_a_teams_own_case_of_the_same_name_alone(folder: Path, knowledge: Knowledge) -> None:
    created("first", document(title="Ours"))
    assert content.load(folder, knowledge).left_alone == ["cases/first"]
    assert Document.objects.get().title == "Ours"


def test_it_stores_the_text_normalised_and_byte_for_byte_otherwise(folder: Path, knowledge: Knowledge) -> None:
    text = document()
    (folder / "cases/first.md").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() + b"\r\n\r\n")
    content.load(folder, knowledge)
    assert Document.objects.get().text == text


def test_a_new_renderer_renders_again_what_an_older_one_made(folder: Path, knowledge: Knowledge) -> None:
    content.load(folder, knowledge)
    Document.objects.update(renderer=markdown.RENDERER - 1, html="old")
    content.load(folder, knowledge)
    assert "It stopped at step 3." in Document.objects.get().html
