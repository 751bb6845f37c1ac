"""A session that ended, or a token that a sign-in in another tab wore: nothing that was typed is lost, and the way leads back to it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from kb import sent
from kb.models import Comment, Document
from tests.kb.access import ROWS
from tests.kb.world import World

pytestmark = pytest.mark.django_db
FROM_HERE = {"Sec-Fetch-Site": "same-origin", "Origin": "null"}
SWAPS = {"HX-Request": "true", "HX-Target": "preview", "HX-Current-URL": "http://testserver/cases/shown/edit/"}


@pytest.fixture
def world(tmp_path: Any, settings: Any) -> World:
    settings.MEDIA_ROOT = tmp_path
    return World()


def leads_to(answer: Any) -> str:
    """Where one is after signing in."""
    address: str = answer.context["sign_in"]
    return parse_qs(urlsplit(address).query)["next"][0]


def test_a_fragment_says_so_in_its_place_and_leaves_the_page_where_it_is(world: World) -> None:
    answer = Client().post(reverse("kb:preview", args=["cases"]), {"text": "x"}, headers=SWAPS)
    assertContains(answer, "sign in in another tab", status_code=401)
    assert "HX-Redirect" not in answer.headers
    assert "HX-Retarget" not in answer.headers
    assert leads_to(answer) == "/cases/shown/edit/"


@pytest.mark.parametrize("target", [{"HX-Target": "main"}, {}])
def test_a_fragment_that_would_be_the_page_stands_above_it(settings: Any, target: dict[str, str]) -> None:
    settings.MEMBERS_ONLY = True
    answer = Client().post("/result/", {"reduced": "x"}, headers={"HX-Request": "true", **target})
    assert (answer.status_code, answer.headers["HX-Retarget"]) == (401, "#main > .wrap")
    assert answer.headers["HX-Reselect"] == ".ended"


def test_a_remark_comes_back_with_its_words_and_the_way_to_its_page(world: World) -> None:
    answer = Client().post(reverse("kb:comment", args=["cases", "shown"]), {"text": "Seen on H800.\n"})
    assertContains(answer, "Seen on H800.", status_code=401)
    assertContains(answer, 'action="/cases/shown/comments/"', status_code=401)
    assert leads_to(answer) == "/cases/shown/"
    assert answer.headers["Cache-Control"] == sent.BACK_ONLY
    assert not Comment.objects.filter(text__contains="H800").exists()


def test_what_the_editor_sent_comes_back_whole(world: World) -> None:
    fields = {"text": "+++\nnew words\n", "base": "1", "why": "for a reason", "do": "save"}
    answer = Client().post(reverse("kb:edit", args=["cases", "shown"]), fields)
    for words in ("new words", 'name="base" value="1"', 'value="for a reason"', 'name="do" value="save"'):
        assertContains(answer, words, status_code=401)
    assert leads_to(answer) == "/cases/shown/edit/"
    assert Document.objects.get(slug="shown").revision == 1


@pytest.mark.parametrize(
    ("name", "arguments", "page"),
    [
        ("kb:state", ["cases", "shown"], "/cases/shown/"),
        ("kb:comment_delete", ["guides", "one", 7], "/guides/one/comments/7/"),
        ("kb:watch", ["notes", "signatures/host_ram"], "/errors/host_ram/#team-note"),
        ("kb:watch", ["notes", "nowhere/host_ram"], "/"),
        ("kb:token_revoke", [3], "/me/tokens/"),
        ("kb:invitation_revoke", [3], "/members/invitations/"),
        ("kb:refresh", [], "/estimates/"),
        ("kb:notices", [], "/notices/"),
    ],
)
def test_after_signing_in_one_is_on_the_page_of_what_was_sent(
    world: World, name: str, arguments: list[Any], page: str
) -> None:
    assert leads_to(Client().post(reverse(name, args=arguments), {"do": "publish"})) == page


def test_what_only_takes_what_a_page_sends_is_known_as_that(world: World) -> None:
    """By what each address answers to somebody who opens it."""
    ours = [name for name in ROWS if name.startswith(("kb:", "wizard:"))]
    opened = {name: Client().get(reverse(name, kwargs=ROWS[name][0].at(world))).status_code for name in ours}
    assert {name for name, status in opened.items() if status == 405} - {"wizard:shell"} == sent.ACTS


def test_a_form_that_another_site_may_have_sent_is_not_offered_to_be_sent_again(settings: Any) -> None:
    """``/result/`` looks at its token later than at the session."""
    settings.MEMBERS_ONLY = True
    strict = Client(enforce_csrf_checks=True)
    assertNotContains(strict.post("/result/", {"paste": "theirs"}), "theirs", status_code=401)
    assertContains(strict.post("/result/", {"paste": "mine"}, headers=FROM_HERE), "mine", status_code=401)


def test_a_paste_sent_with_a_worn_token_stands_in_the_box_with_a_new_one() -> None:
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post("/result/", {"paste": "Killed <b>\n", "csrfmiddlewaretoken": "x" * 32}, headers=FROM_HERE)
    assertContains(answer, "\nKilled &lt;b&gt;\n</textarea>", status_code=403)
    token = answer.context["csrf_token"]
    again = strict.post("/result/", {"paste": "Killed", "csrfmiddlewaretoken": str(token)}, headers=FROM_HERE)
    assert again.status_code == 200


def test_a_form_of_this_site_with_a_worn_token_can_be_sent_again(world: World) -> None:
    strict, address = Client(enforce_csrf_checks=True), reverse("kb:comment", args=["cases", "shown"])
    strict.force_login(world.people[max(world.people)])
    answer = strict.post(address, {"text": "Seen on H800."}, headers=FROM_HERE)
    assertContains(answer, "Send it again", status_code=403)
    token = str(answer.context["csrf_token"])
    strict.post(address, {"text": "Seen on H800.", "csrfmiddlewaretoken": token}, headers=FROM_HERE)
    assert Comment.objects.filter(text__contains="H800").count() == 1


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}])
def test_a_form_that_nobody_vouches_for_gives_its_words_to_copy_and_no_button(
    world: World, headers: dict[str, str]
) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(world.people[max(world.people)])
    answer = strict.post(reverse("kb:comment", args=["cases", "shown"]), {"text": "Seen on H800."}, headers=headers)
    assertContains(answer, "Seen on H800.", status_code=403)
    assertNotContains(answer, "Send it again", status_code=403)


def test_a_password_is_never_sent_back() -> None:
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post(reverse("account_login"), {"login": "lin", "password": "correct-horse-9"}, headers=FROM_HERE)
    assertNotContains(answer, "correct-horse-9", status_code=403)
