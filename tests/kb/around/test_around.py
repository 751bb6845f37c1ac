"""Comments, watching, notices, files, recent changes and feeds: who may, who is told, and what never runs."""

from __future__ import annotations

from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from kb import around, attachments, saving, states, tasks, watching
from kb.models import Attachment, Comment, Document, Member, Notice, Role
from tests.kb.conftest import created, document, edited

pytestmark = pytest.mark.django_db
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


@pytest.fixture(autouse=True)
def files_of_their_own(settings: object, tmp_path: object) -> None:
    settings.MEDIA_ROOT = tmp_path  # type: ignore[attr-defined]


@pytest.fixture
def case(db: None) -> Document:
    return created("here", document(title="Eight cards"))


def member(name: str, role: Role = Role.READER) -> User:
    user = User.objects.create_user(name, email=f"{name}@example.org")
    Member.objects.create(user=user, role=role)
    return user


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def at(view: str, case: Document, **more: object) -> str:
    return reverse(f"kb:{view}", kwargs={"kind": case.kind, "slug": case.slug, **more})


def upload(client: Client, case: Document, name: str, content: bytes, type: str = "image/png") -> int:
    return client.post(at("attach", case), {"files": SimpleUploadedFile(name, content, type)}).status_code


def test_a_visitor_neither_comments_nor_watches_nor_uploads(case: Document) -> None:
    for name in ("comment", "watch", "attach"):
        assert Client().post(at(name, case), {"text": "x"}).status_code == 401
    assert not Comment.objects.exists()


def test_a_reader_does_not_upload(case: Document) -> None:
    assert upload(signed_in(member("r")), case, "a.png", PNG) == 403


def test_nobody_comments_on_what_they_may_not_see(case: Document) -> None:
    Document.objects.update(state=Document.DRAFT)
    client = signed_in(member("r"))
    assert client.post(at("comment", case), {"text": "x"}).status_code == 404
    assert client.post(at("watch", case)).status_code == 404


@pytest.mark.parametrize("text", ["", "   ", "[" * 30, "x" * 10_001])
def test_a_comment_that_is_not_taken_comes_back_with_its_words(case: Document, text: str) -> None:
    answer = signed_in(member("r")).post(at("comment", case), {"text": text})
    assert answer.status_code == 400
    assert not Comment.objects.exists()
    if text.strip():
        assert text[:20] in answer.content.decode()


def test_to_watch_and_to_stop_is_told_where_one_pressed(case: Document) -> None:
    client = signed_in(member("r"))
    for sent, said in (({}, "You watch this page"), ({"off": "1"}, "You do not watch this page any more")):
        answer = client.post(at("watch", case), sent)
        assert answer["Location"].endswith(f"/{case.slug}/#comments")
        assert said in client.get(answer["Location"]).content.decode()


def test_a_comment_is_shown_as_safe_html_and_its_author_watches_from_then_on(case: Document) -> None:
    reader = member("r")
    client = signed_in(reader)
    client.post(at("comment", case), {"text": "It **helped** <script>alert(1)</script>"})
    page = client.get(reverse("kb:case", args=[case.slug])).content.decode()
    assert "<strong>helped</strong>" in page
    assert "<script>alert" not in page
    assert reader.watches.exists()


def test_only_its_author_changes_a_comment_and_only_they_and_reviewers_delete_it(case: Document) -> None:
    author, other, reviewer = member("a"), member("b", Role.EDITOR), member("c", Role.REVIEWER)
    signed_in(author).post(at("comment", case), {"text": "first"})
    row = Comment.objects.get()
    for user in (other, reviewer):
        assert signed_in(user).post(at("comment_change", case, pk=row.pk), {"text": "other"}).status_code == 403
    assert signed_in(other).post(at("comment_delete", case, pk=row.pk)).status_code == 403
    signed_in(author).post(at("comment_change", case, pk=row.pk), {"text": "second"})
    row.refresh_from_db()
    assert (row.text, bool(row.edited)) == ("second\n", True)
    signed_in(reviewer).post(at("comment_delete", case, pk=row.pk))
    row.refresh_from_db()
    assert (row.deleted, row.text, row.html) == (True, "", "")


def test_a_comment_of_another_page_is_not_reached_through_this_one(case: Document) -> None:
    author = member("a", Role.REVIEWER)
    signed_in(author).post(at("comment", created("there")), {"text": "first"})
    row = Comment.objects.get()
    assert signed_in(author).post(at("comment_delete", case, pk=row.pk)).status_code == 404


def test_those_who_watch_are_told_of_an_edit_and_whoever_did_it_is_not(case: Document) -> None:
    watcher, editor = member("w"), member("e", Role.EDITOR)
    for user in (watcher, editor):
        signed_in(user).post(at("watch", case))
    from diagnose.knowledge import current

    saving.save(case, document(title="Nine cards"), case.revision, editor, "counted again", current())
    told = Notice.objects.get()
    assert (told.user, told.words) == (watcher, "e saved revision 2: counted again")
    page = signed_in(watcher).get(reverse("kb:notices")).content.decode()
    assert "Nine cards" in page


def test_who_stopped_watching_is_told_nothing(case: Document) -> None:
    client = signed_in(member("w"))
    client.post(at("watch", case))
    client.post(at("watch", case), {"off": "1"})
    edited(case, document(title="Nine cards"))
    assert not Notice.objects.exists()


def test_nobody_is_told_of_what_they_may_no_longer_see(case: Document) -> None:
    watcher, reviewer = member("w"), member("v", Role.REVIEWER)
    signed_in(watcher).post(at("watch", case))
    edited(case, document(title="Secret words"))
    states.delete(case, reviewer)
    assert "Secret words" not in signed_in(watcher).get(reverse("kb:notices")).content.decode()


def test_a_notice_is_mailed_once_with_a_link_and_no_word_that_breaks_a_header(case: Document, settings: object) -> None:
    settings.HAS_MAIL = True  # type: ignore[attr-defined]
    signed_in(member("w")).post(at("watch", case))
    edited(case, document(title="Nine cards"))
    Document.objects.update(title="Nine\r\nBcc: all@example.org")
    assert (tasks.mail_notices(), tasks.mail_notices()) == (1, 0)
    sent = mail.outbox[0]
    assert sent.to == ["w@example.org"]
    assert "\n" not in sent.subject
    assert "/cases/here/" in sent.body
    assert f"{settings.SITE_URL.rstrip('/')}{reverse('kb:me')}" in sent.body  # type: ignore[attr-defined]


def test_who_turned_mail_off_or_read_it_gets_none(case: Document, settings: object) -> None:
    settings.HAS_MAIL = True  # type: ignore[attr-defined]
    off, has_read = member("o"), member("p")
    Member.objects.filter(user=off).update(mail=False)
    for user in (off, has_read):
        signed_in(user).post(at("watch", case))
    edited(case, document(title="Nine cards"))
    signed_in(has_read).post(reverse("kb:notices"))
    assert (tasks.mail_notices(), mail.outbox) == (0, [])


def test_a_mail_that_the_server_refuses_is_tried_again_and_the_reason_is_kept(
    case: Document, settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HAS_MAIL = True  # type: ignore[attr-defined]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"  # type: ignore[attr-defined]
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1  # type: ignore[attr-defined]
    signed_in(member("w")).post(at("watch", case))
    edited(case, document(title="Nine cards"))
    for _ in range(watching.MOST_TRIES + 1):
        assert tasks.mail_notices() == 0
    told = Notice.objects.get()
    assert (told.tries, told.mailed) == (watching.MOST_TRIES, None)
    assert "ConnectionRefusedError" in told.why


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


def test_changes_and_feeds_hold_what_the_viewer_may_see(case: Document) -> None:
    created("hidden", document(title="Hidden words"))
    Document.objects.filter(slug="hidden").update(state=Document.DRAFT)
    for address in (reverse("kb:changes"), reverse("kb:feed"), reverse("kb:feed_of", args=["cases"])):
        page = Client().get(address).content.decode()
        assert "Eight cards" in page
        assert "Hidden words" not in page


def test_a_feed_is_atom_whatever_stands_in_a_title(case: Document) -> None:
    edited(case, document(title="<script>&amp; ]]> 显存"))
    entries = ElementTree.parse(BytesIO(Client().get(reverse("kb:feed")).content)).getroot()
    titles = [entry.findtext("{http://www.w3.org/2005/Atom}title") for entry in entries]
    assert "<script>&amp; ]]> 显存" in titles


def test_a_control_character_in_a_why_line_does_not_take_the_feed_away(case: Document) -> None:
    from diagnose.knowledge import current

    saving.save(case, document(title="Nine cards"), case.revision, None, "a\x1b[31mb\ufffe", current())
    feed = Client().get(reverse("kb:feed"))
    assert feed.status_code == 200
    assert "a[31mb" in ElementTree.parse(BytesIO(feed.content)).getroot().find("{*}entry/{*}summary").text  # type: ignore[union-attr, operator]


def test_pages_like_this_one_share_at_least_two_of_its_facts(case: Document) -> None:
    created("like", document(title="Alike"))
    created("unlike", document(title="Unlike", kind="host_ram").replace("A100", "T4").replace("7B", "72B"))
    Document.objects.filter(slug="unlike").update(framework="", phase="", model_size="over-40b")
    page = Client().get(reverse("kb:case", args=[case.slug])).content.decode()
    assert "Alike" in page
    assert "Unlike" not in page


def test_where_too_few_share_everything_the_next_nearest_come_behind(case: Document) -> None:
    for slug in ("about", "like"):
        created(slug, document(title=slug))
    Document.objects.filter(slug="about").update(gpu_model="")
    assert [row.slug for row in around.related(case, AnonymousUser())] == ["like", "about"]


def test_near_cases_come_by_one_query_from_the_narrowest_circle_that_holds_enough(
    case: Document, django_assert_num_queries: Any
) -> None:
    for number in range(around.RELATED):
        created(f"near-{number}", document(title=f"Near {number}"))
    Document.objects.filter(slug__startswith="near").update(gpu_model="")
    created("elsewhere", document(title="Elsewhere"))
    Document.objects.filter(slug="elsewhere").update(framework="other")
    with django_assert_num_queries(1):
        found = around.related(case, AnonymousUser())
    assert [row.slug for row in found] == [f"near-{number}" for number in range(around.RELATED)]
