"""The pages of the knowledge base, on the content that ships."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from diagnose.knowledge import Knowledge
from kb import documents, estimates, links
from kb.models import Document, OneTimeLink
from kb.templatetags.keys import breakable
from tests.kb.conftest import document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shipped")]

LISTS = ("cases", "levers", "errors", "frameworks", "gpus", "models")


@pytest.mark.parametrize("name", [*LISTS, "healthz"])
def test_it_rejects_post(client: Client, name: str) -> None:
    assert client.post(reverse(f"kb:{name}")).status_code == 405


@pytest.mark.parametrize("name", ["case", "lever", "error", "framework", "gpu", "model"])
def test_it_answers_404_for_what_is_not_there(client: Client, name: str) -> None:
    assert client.get(reverse(f"kb:{name}", args=["nothing.like-this"])).status_code == 404


def test_an_unpublished_case_is_nowhere(client: Client) -> None:
    case = Document.objects.all()[0]
    Document.objects.filter(pk=case.pk).update(state=Document.TRASH)
    assert client.get(reverse("kb:case", args=[case.slug])).status_code == 404
    assert case.title not in client.get(reverse("kb:cases")).content.decode()
    assert (
        Document.objects.visible_to(User()).counts_by("oom_kind").get(case.oom_kind, 0)
        < Document.objects.filter(oom_kind=case.oom_kind).count()
    )


@pytest.mark.parametrize("name", LISTS)
def test_each_list_names_its_records(client: Client, knowledge: Knowledge, name: str) -> None:
    kind = {"errors": "signatures"}.get(name, name)
    page = client.get(reverse(f"kb:{name}"))
    assert page.status_code == 200
    for record in getattr(knowledge, kind).values():
        assert reverse(f"kb:{name.removesuffix('s')}", args=[record.slug]) in page.content.decode()


def test_every_page_of_the_catalogue_opens(client: Client, knowledge: Knowledge) -> None:
    kinds = {"lever": "levers", "error": "signatures", "framework": "frameworks", "gpu": "gpus", "model": "models"}
    for name, kind in kinds.items():
        for slug in getattr(knowledge, kind):
            answer = client.get(reverse(f"kb:{name}", args=[slug]))
            assert answer.status_code == 200, (name, slug)


def test_every_case_shows_its_claims_with_verdicts_and_its_fixes(client: Client, knowledge: Knowledge) -> None:
    estimates.refresh()
    for case in knowledge.cases.values():
        page = client.get(reverse("kb:case", args=[case.slug]))
        words = page.context["claims"]
        assert page.status_code == 200
        assert [judged.claim for judged in words] == list(case.claims)
        assert [trial.fix for trial in page.context["trials"]] == list(case.fixes)
        assert all(trial.marks[0].words.startswith("1 ") for trial in page.context["trials"])
        assert "Estimate against report" in page.content.decode()


def test_a_lever_page_counts_the_cases_that_tell_of_it(client: Client, knowledge: Knowledge) -> None:
    slug, case = next((fix.lever, case) for case in knowledge.cases.values() for fix in case.fixes)
    page = client.get(reverse("kb:lever", args=[slug])).content.decode()
    assert reverse("kb:case", args=[case.slug]) in page


def test_a_lever_page_names_the_key_of_each_framework(client: Client, knowledge: Knowledge) -> None:
    lever = next(lever for lever in knowledge.levers.values() if lever.changes)
    fact = lever.changes[0].fact
    page = client.get(reverse("kb:lever", args=[lever.slug])).content.decode()
    for framework in knowledge.frameworks.values():
        keys = [key.key for key in framework.keys if key.fact == fact and not key.dead and not key.hidden]
        assert all(f"<code>{breakable(key)}</code>" in page for key in keys)


def test_a_facet_narrows_the_list_and_counts_what_is_left(client: Client) -> None:
    case = Document.objects.exclude(framework="")[0]
    page = client.get(reverse("kb:cases"), {"framework": case.framework})
    assert {row.case.framework for row in page.context["rows"]} == {case.framework}
    kinds = next(facet for facet in page.context["facets"] if facet.title == "Kind")
    assert sum(choice.count for choice in kinds.choices) == len(page.context["rows"])


def test_a_narrowing_that_leaves_nothing_says_what_to_drop(client: Client) -> None:
    page = client.get(reverse("kb:cases"), {"framework": "<b>", "kind": "host_ram"}).content.decode()
    assert "No case has all of this at once" in page
    assert "Drop framework" in page
    assert "<b>:" not in page


def test_cases_that_do_not_tell_their_phase_can_be_chosen(client: Client, knowledge: Knowledge) -> None:
    documents.write(Document(slug="untold"), document(), knowledge)
    page = client.get(reverse("kb:cases"), {"phase": "none"})
    assert "untold" in {row.case.slug for row in page.context["rows"]}
    assert {row.case.phase for row in page.context["rows"]} == {""}


@pytest.mark.parametrize("page", ["0", "999", "x"])
def test_a_page_number_out_of_range_is_no_error(client: Client, page: str) -> None:
    assert client.get(reverse("kb:cases"), {"page": page}).status_code == 200


@pytest.mark.parametrize("name", ["kb:cases", "kb:levers", "kb:frameworks"])
def test_the_queries_do_not_grow_with_the_base(
    client: Client, knowledge: Knowledge, django_assert_max_num_queries: DjangoAssertNumQueries, name: str
) -> None:
    for number in range(30):
        documents.write(Document(slug=f"more-{number}"), document(), knowledge)
    client.get(reverse(name))  # reads the texts once
    with django_assert_max_num_queries(7):
        client.get(reverse(name))


def test_a_hostile_case_renders_no_script(client: Client, knowledge: Knowledge) -> None:
    hostile = "<script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)>"
    documents.write(
        Document(slug="hostile"), document(title="</title><script>alert(2)</script>", body=hostile), knowledge
    )
    for address in (reverse("kb:case", args=["hostile"]), reverse("kb:cases")):
        page = client.get(address).content.decode()
        assert "<script>alert" not in page
        assert "onerror=" not in page
        assert 'href="javascript' not in page


def test_a_setup_link_that_is_not_ours_is_refused(client: Client) -> None:
    assert client.get(reverse("kb:setup", args=["made-up:token"])).status_code == 404


def test_a_setup_link_is_refused_after_a_day(client: Client) -> None:
    token = links.make_admin_link()
    OneTimeLink.objects.update(expires=timezone.now())
    assert client.get(reverse("kb:setup", args=[token])).status_code == 404


def test_a_newer_setup_link_replaces_the_older() -> None:
    older, newer = links.make_admin_link(), links.make_admin_link()
    assert links.find(older) is None
    assert links.find(newer)


def test_a_setup_link_refuses_a_weak_password_and_is_not_spent_by_it(client: Client) -> None:
    address = reverse("kb:setup", args=[links.make_admin_link()])
    page = client.post(address, {"username": "lin", "password1": "12345", "password2": "12345"})
    assert "too short" in page.content.decode()
    assert OneTimeLink.objects.exists()
    assert not User.objects.exists()


def test_a_setup_link_makes_one_admin_and_signs_in(client: Client) -> None:
    address = reverse("kb:setup", args=[links.make_admin_link()])
    given = {"username": "lin", "password1": "correct-horse-9", "password2": "correct-horse-9"}
    assert client.post(address, given).status_code == 302
    assert User.objects.get().is_superuser
    assert client.session["_auth_user_id"] == str(User.objects.get().pk)
    assert Client().post(address, {**given, "username": "mallory"}).status_code == 404
