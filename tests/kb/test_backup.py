"""Backup and restore: the same site again, from one database into another, or nothing."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.test import Client

from diagnose.knowledge import current
from kb import attachments, backup, comments, content, saving, states
from kb.models import Attachment, Comment, Document, Entry, Event, Member, Revision, Role
from tests.kb.conftest import created, document, edited
from tests.live import ROOT, environment

pytestmark = pytest.mark.django_db(transaction=True)  # a backup begins its own


@pytest.fixture(autouse=True)
def files_of_their_own(settings: object, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"  # type: ignore[attr-defined]


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A backup of a site with something of everything."""
    user = User.objects.create_user("ada", "ada@example.org", "a long password")
    Member.objects.create(user=user, role=Role.ADMIN)
    case = edited(created("here"), document(body="显存不足"))
    comments.add(case, "It **helped**.", user)
    upload = ContentFile(b"\x89PNG\r\n\x1a\n" + b"\0" * 9, name="a.png")
    attachments.add(case, upload, user)  # type: ignore[arg-type]
    states.delete(created("gone"), user)
    saving.create("guides", "", GUIDE, user, "first", current())
    path = tmp_path / "headroom.zip"
    call_command("backup", path)
    return path


GUIDE = """+++
title = "How to read it"
reviewed = 2026-11-01
sources = ["https://example.org/a"]
summary = "Short."
+++
## One

Words.
"""


def emptied() -> None:
    for model in reversed(backup.backed_up()):
        model._default_manager.all().delete()
    Entry.objects.all().delete()


def everything() -> dict[str, list[dict[str, object]]]:
    """All rows of all models that a backup holds."""
    return {model._meta.label: list(model._default_manager.order_by("pk").values()) for model in backup.backed_up()}


@pytest.mark.parametrize(
    ("raw", "words"),
    [(b"", "no backup"), (b"PK\x03\x04 cut off", "no backup"), (b"x" * 999, "no backup")],
)
def test_what_is_no_backup_is_refused(tmp_path: Path, raw: bytes, words: str) -> None:
    (tmp_path / "a.zip").write_bytes(raw)
    with pytest.raises(CommandError, match=words):
        call_command("restore", tmp_path / "a.zip")


def test_a_base_that_holds_something_is_not_overwritten(full: Path) -> None:
    before = everything()
    with pytest.raises(CommandError, match="restore into an empty one"):
        call_command("restore", full)
    assert everything() == before


def test_a_site_that_nobody_has_joined_is_replaced_with_what_it_had_loaded(full: Path, tmp_path: Path) -> None:
    emptied()
    shipped = tmp_path / "content" / "guides"
    shipped.mkdir(parents=True)
    (shipped / "shipped.md").write_text(GUIDE)
    content.load(tmp_path / "content", current())
    call_command("restore", full)
    assert not Document.objects.filter(slug="shipped").exists()
    assert Document.objects.filter(slug="here").exists()


def test_a_page_that_was_written_without_people_is_not_replaced(full: Path) -> None:
    emptied()
    created("by-import")
    with pytest.raises(CommandError, match="pages that were written here"):
        call_command("restore", full)
    assert Document.objects.filter(slug="by-import").exists()


@pytest.mark.parametrize("spoil", ["format", "migration", "row", "lost file", "strange file"])
def test_a_backup_that_does_not_fit_leaves_the_base_empty(full: Path, tmp_path: Path, spoil: str) -> None:
    emptied()
    spoilt = tmp_path / "spoilt.zip"
    with zipfile.ZipFile(full) as old, zipfile.ZipFile(spoilt, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == backup.MANIFEST:
                told = json.loads(content)
                told["format"] += spoil == "format"
                told["migrations"] += ["kb.9999_later"] if spoil == "migration" else []
                content = json.dumps(told).encode()
            if name == backup.ROWS and spoil == "row":
                content += b'{"model": "kb.document", "pk": 9, "fields": {"nothing": 1}}\n'
            if not (name.startswith(backup.FILES) and spoil == "lost file"):
                new.writestr(name, content)
        if spoil == "strange file":
            new.writestr("files/../../out.txt", b"x")
    with pytest.raises(CommandError):
        call_command("restore", spoilt)
    assert not Document.objects.exists()
    assert not User.objects.exists()
    assert not (tmp_path.parent / "out.txt").exists()


def test_backup_and_restore_give_the_same_site(full: Path, settings: object, tmp_path: Path) -> None:
    before = everything()
    assert before["kb.Event"].pop()["action"] == "backed up"  # noted when it was there
    emptied()
    settings.MEDIA_ROOT = tmp_path / "other"  # type: ignore[attr-defined]
    call_command("restore", full)
    after = everything()
    assert [event["action"] for event in after["kb.Event"]][-1] == "restored"
    after["kb.Event"].pop()
    for label, rows in before.items():
        assert after[label] == rows, label
    assert Client().login(username="ada", password="a long password")
    page = Client().get("/cases/here/").content.decode()
    assert "It <strong>helped</strong>." in page
    assert b"".join(Client().get("/cases/here/files/a.png").streaming_content).startswith(b"\x89PNG")
    assert "here" in Client().get("/search/", {"q": "显存"}).content.decode()
    assert Revision.objects.filter(document__slug="here").count() == 2
    created("another")  # keys go on where the old ones ended


def test_only_its_owner_can_read_the_file(full: Path) -> None:
    assert stat.S_IMODE(full.stat().st_mode) == 0o600


def test_a_backup_that_cannot_be_written_leaves_no_half_of_it(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("backup", tmp_path / "nowhere" / "a.zip")
    assert list(tmp_path.glob("**/*.zip*")) == []
    assert Comment.objects.count() == 0
    assert not Event.objects.filter(action="backed up").exists()


def test_a_lost_file_costs_nothing_but_itself(full: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    attachments.add(Document.objects.get(slug="here"), ContentFile(b"words", name="b.txt"), User.objects.get())  # type: ignore[arg-type]
    row = Attachment.objects.get(name="a.png")
    row.file.storage.delete(str(row.file.name))
    assert Client().get("/cases/here/files/a.png").status_code == 404
    call_command("backup", tmp_path / "later.zip")
    assert "cases/here: a.png" in capsys.readouterr().err
    emptied()
    call_command("restore", tmp_path / "later.zip")
    assert b"".join(Client().get("/cases/here/files/b.txt").streaming_content) == b"words"
    assert Client().get("/cases/here/files/a.png").status_code == 404


def test_both_are_in_the_audit_log(full: Path) -> None:
    assert Event.objects.filter(action="backed up").exists()


@pytest.mark.service
def test_a_backup_of_sqlite_restores_into_postgresql(full: Path, postgres_url: str, tmp_path: Path) -> None:
    """Real processes: the other site has a database and a state folder of its own."""
    (tmp_path / "state").mkdir()
    env = environment(tmp_path / "state", DATABASE_URL=postgres_url)
    for words in (["migrate", "-v0"], ["restore", str(full)], ["backup", str(tmp_path / "again.zip")]):
        done = subprocess.run(
            [sys.executable, "manage.py", *words], cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert rows_of(tmp_path / "again.zip") == rows_of(full)


def rows_of(path: Path) -> list[object]:
    """Every row but the audit log's, which tells of the backups themselves."""
    with zipfile.ZipFile(path) as archive:
        rows = [json.loads(line) for line in archive.read(backup.ROWS).splitlines()]
    return [row for row in rows if row["model"] != "kb.event"]


def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"nothing\.zip cannot be opened \(No such file or directory\): name a file"):
        call_command("restore", tmp_path / "nothing.zip")


def test_a_base_that_was_not_migrated_is_told_so(full: Path, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    env = environment(tmp_path / "state")
    done = subprocess.run(
        [sys.executable, "manage.py", "restore", str(full)],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "run manage.py migrate first" in done.stderr
