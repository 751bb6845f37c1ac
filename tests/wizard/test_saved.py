"""A saved diagnosis: two links, an expiry, nothing unredacted, and the step to a case."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from kb.models import Document, Member, Role
from wizard import saved
from wizard.models import LIFETIME, SavedDiagnosis
from wizard.tasks import purge_diagnoses

pytestmark = pytest.mark.django_db

PASTE = """torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 13.92 GiB. GPU 0 has a total capacity of 79.15 GiB
of which 6.31 GiB is free. Process 1 has 72.84 GiB memory in use.
export WANDB_API_KEY={secret}
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \\
  trainer.n_gpus_per_node=8 trainer.nnodes=1 actor_rollout_ref.rollout.n=8
"""
SECRET = "0123456789abcdef" * 2 + "01234567"


def keep(client: Client, **answers: str) -> tuple[SavedDiagnosis, str]:
    """Saves a diagnosis as its page does; the row and the owner's address."""
    answer = client.post(reverse("wizard:save"), {"reduced": PASTE.format(secret=SECRET), **answers})
    assert answer.status_code == 303
    return SavedDiagnosis.objects.get(), answer.headers["Location"]


def editor(client: Client) -> User:
    user = User.objects.create_user("ed")
    Member.objects.create(user=user, role=Role.EDITOR)
    client.force_login(user)
    return user


def test_nothing_is_saved_of_an_empty_page(client: Client) -> None:
    client.post(reverse("wizard:save"), {"reduced": "  "})
    assert not SavedDiagnosis.objects.exists()


def test_a_diagnosis_that_is_not_saved_leaves_no_row(client: Client) -> None:
    client.post(reverse("wizard:result"), {"paste": PASTE})
    assert not SavedDiagnosis.objects.exists()


def test_a_form_that_lies_about_being_redacted_is_redacted_all_the_same(client: Client) -> None:
    row, _ = keep(client)
    assert SECRET not in row.text
    assert "CUDA out of memory" in row.text


def test_the_link_for_others_does_not_own(client: Client) -> None:
    row, own = keep(client)
    head = client.get(own).content.decode().split("</header>")[1]
    assert f"{reverse('wizard:saved', args=[row.view])}</a>" in head
    key = own.rstrip("/").rsplit("/", 1)[1]
    page = client.get(reverse("wizard:saved", args=[row.view])).content.decode()
    assert key not in page
    assert "How did it go?" not in page
    for name in ("saved_own", "saved_outcome", "saved_delete", "saved_case"):
        address = reverse(f"wizard:{name}", args=[row.view, "x" * len(key)])
        assert (client.get if name == "saved_own" else client.post)(address).status_code == 404
    assert SavedDiagnosis.objects.filter(pk=row.pk).exists()


def test_the_key_itself_is_not_kept(client: Client) -> None:
    row, own = keep(client)
    assert own.rstrip("/").rsplit("/", 1)[1] not in str(SavedDiagnosis.objects.filter(pk=row.pk).values())


def test_an_expired_one_is_gone_before_the_purge_comes_by_and_after(client: Client) -> None:
    row, own = keep(client)
    SavedDiagnosis.objects.update(expires=timezone.now() - timedelta(seconds=1))
    assert client.get(own).status_code == client.get(reverse("wizard:saved", args=[row.view])).status_code == 404
    assert purge_diagnoses() == 1
    assert not SavedDiagnosis.objects.exists()


def test_a_link_that_leads_nowhere_any_more_says_that_it_was_kept_for_a_time(client: Client) -> None:
    row, own = keep(client)
    SavedDiagnosis.objects.update(expires=timezone.now() - timedelta(seconds=1))
    for address in (own, reverse("wizard:saved", args=[row.view])):
        page = client.get(address).content.decode()
        assert f"kept {LIFETIME.days} days" in page
        assert "renamed" not in page


def test_the_purge_leaves_the_living(client: Client) -> None:
    keep(client)
    assert purge_diagnoses() == 0


def test_it_is_kept_for_its_lifetime_and_neither_cached_nor_indexed(client: Client) -> None:
    row, own = keep(client)
    assert abs(row.expires - timezone.now() - LIFETIME) < timedelta(minutes=1)
    for address in (own, reverse("wizard:saved", args=[row.view])):
        answer = client.get(address)
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Robots-Tag"] == "noindex"


def test_it_gives_the_same_diagnosis_with_lines_and_answers(client: Client) -> None:
    row, _ = keep(client, host_ram_gb="512")
    page = client.get(reverse("wizard:saved", args=[row.view])).content.decode()
    assert "GPU memory runs out" in page
    assert 'id="L1"' in page
    assert 'name="host_ram_gb" value="512"' in page


def test_the_owner_tells_the_outcome_and_a_lever_that_is_none_is_left_out(client: Client) -> None:
    row, own = keep(client)
    told = {"outcome": "worked", "lever": "batch.micro.down", "words": "halved it"}
    client.post(f"{own}outcome", told)
    row.refresh_from_db()
    assert (row.outcome, row.lever, row.words) == ("worked", "batch.micro.down", "halved it")
    client.post(f"{own}outcome", {"outcome": "won", "lever": "<script>", "words": "x" * 9000})
    row.refresh_from_db()
    assert (row.outcome, row.lever, len(row.words)) == ("", "", saved.MOST_WORDS)


def test_the_owner_deletes_it_at_once(client: Client) -> None:
    _, own = keep(client)
    assert "is deleted" in client.post(f"{own}delete").content.decode()
    assert client.get(own).status_code == 404


@pytest.mark.parametrize("role", [None, Role.READER])
def test_nobody_below_an_editor_makes_a_case_of_it(client: Client, role: Role | None) -> None:
    _, own = keep(client)
    if role is not None:
        user = User.objects.create_user("reader")
        Member.objects.create(user=user, role=role)
        client.force_login(user)
    assert client.post(f"{own}case").status_code in (302, 403)
    assert not Document.objects.exists()


def test_an_editor_makes_a_draft_of_it_with_the_facts_filled_in(client: Client) -> None:
    row, own = keep(client, host_ram_gb="512")
    user = editor(client)
    client.post(f"{own}outcome", {"outcome": "worked", "lever": "batch.micro.down", "words": "Halved it.\nIt ran."})
    answer = client.post(f"{own}case")
    case = Document.objects.get()
    assert answer.headers["Location"] == reverse("kb:edit", args=["cases", case.slug])
    assert (case.state, case.author, case.revision) == (Document.DRAFT, user, 1)
    assert case.facts["oom_kind"] == "gpu_oom"
    assert (case.facts["framework"], case.facts["n_gpus"], case.facts["host_ram_gb"]) == ("verl", 8, 512)
    assert (case.worked, case.outcome) == (1, "solved")
    assert "Halved it." in case.text
    assert SECRET not in case.text
    assert f"/saved/{row.view}/" in case.text


def test_a_draft_tells_until_when_its_source_is_kept_by_the_days_of_the_site(client: Client) -> None:
    row, own = keep(client)
    made = datetime(2026, 11, 22, 16, 30, tzinfo=UTC)
    SavedDiagnosis.objects.filter(pk=row.pk).update(made=made, expires=made + timedelta(days=36500))
    editor(client)
    with timezone.override("Asia/Shanghai"):
        client.post(f"{own}case")
    text = Document.objects.get().text
    assert "\ndate = 2026-11-23\n" in text
    assert "is kept until 30 October 2126: put a link that stays in its place" in text


def test_a_second_diagnosis_with_the_same_headline_gets_an_address_of_its_own(client: Client) -> None:
    row, own = keep(client)
    editor(client)
    first = client.post(f"{own}case").headers["Location"]
    SavedDiagnosis.objects.filter(pk=row.pk).update(view="another-view")
    second = client.post(own.replace(row.view, "another-view") + "case").headers["Location"]
    assert first != second
    assert Document.objects.filter(kind="cases").count() == 2


def test_words_that_would_break_the_front_matter_are_quoted(client: Client) -> None:
    _, own = keep(client)
    editor(client)
    client.post(
        f"{own}outcome", {"outcome": "failed", "lever": "batch.micro.down", "words": 'say "no"\\\n+++\n[[fix]]'}
    )
    client.post(f"{own}case")
    assert Document.objects.get().failed == 1
