"""The zip of all documents, out of a browser and into it: admins alone, capped, told in the log."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse

from kb.models import Document, Event, Revision
from kb.views import exchange
from tests.kb.conftest import created, document, edited
from tests.kb.documents.conftest import signed_in

pytestmark = pytest.mark.django_db


def zipped(files: dict[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return file.getvalue()


def send(user: User, raw: bytes, **data: str) -> HttpResponse:
    return signed_in(user).post("/exchange/", {"zip": SimpleUploadedFile("in.zip", raw), **data})


def test_a_reviewer_takes_nothing_in_and_nothing_out(reviewer: User) -> None:
    assert send(reviewer, zipped({"cases/new.md": document()})).status_code == 403
    assert signed_in(reviewer).get("/exchange/documents.zip").status_code == 403
    assert not Document.objects.exists()


@pytest.mark.parametrize("raw", [b"", b"no zip", b"PK\x03\x04 and no zip"])
def test_what_is_no_zip_is_refused_in_words(admin: User, raw: bytes) -> None:
    answer = send(admin, raw)
    assert answer.status_code == 422
    assert "Nothing was taken in" in answer.content.decode()
    assert not Event.objects.exists()


def test_too_large_a_file_and_too_many_documents_are_refused(admin: User, monkeypatch: pytest.MonkeyPatch) -> None:
    files = zipped({"cases/a.md": document(), "cases/b.md": document(), "cases/c.md": document()})
    monkeypatch.setattr(exchange, "MOST", 2)
    assert "at most 2 are taken" in send(admin, files).content.decode()
    monkeypatch.setattr(exchange, "LARGEST", 100)
    assert "at most 100 are taken here" in send(admin, files).content.decode()
    assert not Document.objects.exists()


def test_each_misfit_is_told_once(admin: User) -> None:
    page = send(admin, zipped({"notes/levers/no-such-lever.md": "Ours.\n"})).content.decode()
    assert page.count("the catalogue has no such page") == 1


def test_hostile_names_and_texts_are_shown_as_text(admin: User) -> None:
    files = {"cases/<img src=x onerror=alert(1)>.md": document(), "<script>alert(1)</script>.md": "x"}
    page = send(admin, zipped(files)).content.decode()
    assert "&lt;img src=x" in page
    assert "&lt;script&gt;alert" in page
    assert "<img" not in page
    assert "<script>" not in page


def test_what_fits_comes_in_and_the_rest_is_told(admin: User) -> None:
    edited(created("ours"), document(title="Ours"))
    files = {"cases/good.md": document(), "cases/bad.md": document(lever="no.such"), "cases/ours.md": document()}
    page = send(admin, zipped(files)).content.decode()
    assert "1 new, 0 updated, 0 as they were" in page
    assert "left alone: cases/ours." in page
    assert "cases/bad.md" in page
    event = Event.objects.get()
    assert (event.actor, event.action, event.what) == ("ida", "imported", "in.zip")
    revision = Revision.objects.get(document__slug="good")
    assert (revision.author_name, revision.why) == ("ida", "imported")


def test_with_update_what_differs_becomes_a_new_revision(admin: User) -> None:
    edited(created("ours"), document(title="Ours"))
    send(admin, zipped({"cases/ours.md": document(title="Theirs")}), update="on")
    assert Document.objects.get().title == "Theirs"


def test_what_goes_out_comes_into_an_empty_base_byte_for_byte(admin: User) -> None:
    created("first", document(body="显存 and a line separator \u2028 in it."))
    created("second")
    ida = signed_in(admin)
    raw = b"".join(ida.get("/exchange/documents.zip"))
    texts = dict(Document.objects.values_list("slug", "text"))
    Document.objects.all().delete()
    send(admin, raw)
    assert dict(Document.objects.values_list("slug", "text")) == texts
    assert [event.action for event in Event.objects.all()] == ["imported", "exported"]


def test_a_draft_does_not_go_out(admin: User) -> None:
    created("hidden")
    Document.objects.update(state=Document.DRAFT)
    raw = b"".join(signed_in(admin).get("/exchange/documents.zip"))
    assert zipfile.ZipFile(io.BytesIO(raw)).namelist() == []
