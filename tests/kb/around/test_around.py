"""Comments, watching, notices, recent changes and feeds: who may, who is told, and what never runs."""

from __future__ import annotations

from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core import mail
from django.test import Client
from django.urls import reverse

from diagnose.knowledge import current
from kb import around, comments, saving, states, tasks, watching
from kb.models import Comment, Document, Member, Notice, Role
from tests.kb.around.conftest import at, member, signed_in
from tests.kb.conftest import created, document, edited

pytestmark = pytest.mark.django_db


def test_a_visitor_neither_comments_nor_watches_nor_uploads(case: Document) -> None:
    for name in ("comment", "watch", "attach"):
        assert Client().post(at(name, case), {"text": "x"}).status_code == 401
    assert not Comment.objects.exists()


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

    saving.save(case, document(title="Nine cards"), case.revision, editor, "counted again", current())
    told = Notice.objects.get()
    assert (told.user, told.words) == (watcher, "e saved revision 2: counted again")
    page = signed_in(watcher).get(reverse("kb:notices")).content.decode()
    assert "Nine cards" in page


def test_whoever_wrote_a_page_is_told_of_edits_and_comments_until_they_stop_watching() -> None:
    writer, other = member("w", Role.EDITOR), member("o", Role.EDITOR)
    page = saving.create("cases", "mine", document(), writer, "", current()).document
    comments.add(page, "Same here.", other)
    assert [notice.words for notice in Notice.objects.filter(user=writer)] == ["o commented"]
    watching.unwatch(page, writer)
    saving.save(page, document(title="Another"), 1, other, "", current())
    saving.save(page, document(title="A third"), 2, writer, "", current())
    saving.save(page, document(title="A fourth"), 3, other, "", current())
    assert Notice.objects.filter(user=writer).count() == 1


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
