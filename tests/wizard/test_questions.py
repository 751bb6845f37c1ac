"""One question at a time, with the whole state in the address."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from diagnose.knowledge import current
from diagnose.types import Asked
from wizard.asking import ask

pytestmark = pytest.mark.django_db


def asked(page: str) -> str:
    return re.search(r'name="asked" value="([^"]+)"', page)[1]


def test_going_on_without_a_choice_says_what_to_do(client):
    first = asked(client.get("/questions/").content.decode())
    page = client.get("/questions/", {"asked": first}).content.decode()
    assert asked(page) == first
    assert 'class="err"' in page


def test_the_first_question_is_what_ran_out(client):
    assert asked(client.get("/questions/").content.decode()) == "oom_kind"


def test_an_answered_question_is_not_asked_again(client):
    page = client.get("/questions/?oom_kind=gpu_oom").content.decode()
    assert asked(page) != "oom_kind"
    assert "Question 2, at most 5" in page


def test_dont_know_and_skip_go_on_alike(client):
    by_answer = client.get("/questions/?oom_kind=unknown").content.decode()
    by_skip = client.get("/questions/?skip=oom_kind").content.decode()
    assert asked(by_answer) == asked(by_skip) != "oom_kind"


def test_back_leads_to_the_state_before(client):
    page = client.get("/questions/?oom_kind=gpu_oom&skip=framework").content.decode()
    assert 'href="/questions/?oom_kind=gpu_oom"' in page


def test_at_most_five_questions_lead_to_the_answer(client):
    answers = "oom_kind=gpu_oom&framework=trl&phase=actor_update&model=Qwen2.5-7B&n_gpus=8"
    response = client.get(f"/questions/?{answers}")
    assert response.status_code == 302
    link = urlsplit(response.url)
    assert link.path == "/result/"
    assert parse_qs(link.query)["n_gpus"] == ["8"]


def test_skipping_all_of_them_leads_back_to_the_paste_box(client):
    state = ""
    for _ in range(9):
        response = client.get(f"/questions/?{state}")
        if response.status_code == 302:
            break
        state += f"&skip={asked(response.content.decode())}"
    assert response.url == "/"


@pytest.mark.parametrize("question", current().questions.values(), ids=lambda question: question.slug)
def test_every_question_can_be_answered_or_says_how_to_find_out(question):
    shown = ask(Asked(question, 0))
    assert [option.value for option in shown.options] == [option.value for option in question.options]
    assert shown.options or shown.find_out or shown.hint


def test_a_head_request_is_answered_as_a_get(client):
    assert client.head("/questions/").status_code == 200
