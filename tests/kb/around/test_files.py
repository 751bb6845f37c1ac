"""Files of a page: who may, what is kept, and what never runs."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kb import attachments, states
from kb.models import Attachment, Document, Role
from tests.kb.around.conftest import PNG, at, member, signed_in, upload

pytestmark = pytest.mark.django_db


def test_a_reader_does_not_upload(case: Document) -> None:
    assert upload(signed_in(member("r")), case, "a.png", PNG) == 403


@pytest.mark.parametrize(
    ("name", "content", "declared"),
    [
        ("a.svg", b"<svg onload=alert(1)>", "image/svg+xml"),
        ("a.html", b"<script>alert(1)</script>", "text/html"),
        ("a.png", b"<script>alert(1)</script>", "image/png"),
        ("a.pdf", b"%PDF-1.4", "application/pdf"),
        ("train.log", b"CUDA out of memory", "text/plain"),
    ],
)
def test_what_a_browser_could_run_is_a_download(case: Document, name: str, content: bytes, declared: str) -> None:
    client = signed_in(member("e", Role.EDITOR))
    assert upload(client, case, name, content, declared) == 302
    answer = client.get(at("file", case, name=name))
    assert answer.headers["Content-Type"] == attachments.DOWNLOAD
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert b"".join(answer.streaming_content) == content


def test_an_image_is_shown_in_place(case: Document) -> None:
    client = signed_in(member("e", Role.EDITOR))
    upload(client, case, "memory.png", PNG)
    answer = client.get(at("file", case, name="memory.png"))
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["Content-Disposition"].startswith("inline")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        (".htaccess", "htaccess"),
        ("a\0b\r\nc.log", "abc.log"),
        ('"><svg onload=x>.log', "svg onloadx.log"),
        ("显存.log", "显存.log"),
        ("...", "file"),
        ("x" * 400 + ".log", "x" * 120 + ".log"),
    ],
)
def test_a_name_is_cleaned(given: str, kept: str) -> None:
    assert attachments.clean_name(given) == kept


def test_too_large_too_many_and_empty_files_are_refused_with_the_reason(
    case: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = member("e", Role.EDITOR)
    client = signed_in(editor)
    assert upload(client, case, "a.log", b"") == 400
    monkeypatch.setattr(attachments, "LARGEST", 10)
    answer = client.post(at("attach", case), {"files": SimpleUploadedFile("a.log", b"x" * 11)})
    assert "at most" in answer.content.decode()
    monkeypatch.setattr(attachments, "MOST", 1)
    assert upload(client, case, "a.log", b"x") == 302
    assert upload(client, case, "b.log", b"x") == 400
    assert upload(client, case, "a.log", b"y") == 302
    assert Attachment.objects.get().size == 1


def test_whoever_sends_a_file_is_told_that_it_took_the_place_of_another(case: Document) -> None:
    client = signed_in(member("e", Role.EDITOR))

    def said(name: str) -> str:
        sent = {"files": SimpleUploadedFile(name, b"x")}
        return client.post(at("attach", case), sent, follow=True).content.decode()

    assert "is replaced" not in said("run1.log")
    assert "“run1.log” is replaced" in said("run(1).log")  # another name, cleaned to the same


def test_a_file_of_a_page_that_one_may_not_see_is_not_given(case: Document) -> None:
    upload(signed_in(member("e", Role.EDITOR)), case, "a.png", PNG)
    Document.objects.update(state=Document.DRAFT)
    assert Client().get(at("file", case, name="a.png")).status_code == 404
    assert signed_in(member("r")).get(at("file", case, name="a.png")).status_code == 404


def test_a_file_that_is_taken_away_leaves_the_disk(case: Document, django_capture_on_commit_callbacks: object) -> None:
    client = signed_in(member("e", Role.EDITOR))
    upload(client, case, "a.png", PNG)
    row = Attachment.objects.get()
    path = row.file.name
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        client.post(at("detach", case, name="a.png"))
    assert not Attachment.objects.exists()
    assert not row.file.storage.exists(path)


def test_a_purged_page_leaves_no_file_on_the_disk(case: Document, django_capture_on_commit_callbacks: object) -> None:
    admin = member("i", Role.ADMIN)
    upload(signed_in(admin), case, "secret.log", b"x")
    kept = Attachment.objects.get().file
    states.delete(case, admin)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        states.purge(case, admin)
    assert not kept.storage.exists(str(kept.name))
