"""One question at a time, with the whole state in the address."""

from __future__ import annotations

import html
import re

import pytest

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.questions.bench import untried
from diagnose.types import Facts
from diagnose.vocabulary import PHASES
from wizard.asking import ask
from wizard.state import Answers, read_answers

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


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
    assert "Question 2, at most 10" in page


def test_dont_know_and_skip_go_on_alike(client):
    by_answer = client.get("/questions/?oom_kind=unknown").content.decode()
    by_skip = client.get("/questions/?skip=oom_kind").content.decode()
    assert asked(by_answer) == asked(by_skip) != "oom_kind"


def test_back_shows_the_question_before_with_its_answer_and_keeps_all_others(client):
    page = client.get("/questions/?oom_kind=gpu_oom&framework=trl").content.decode()
    back = html.unescape(re.search(r'href="(/questions/[^"]+)">‹ Back', page)[1])
    before = client.get(back).content.decode()
    assert asked(before) == "framework"
    assert re.search(r'value="trl" checked', before)
    assert 'name="oom_kind" value="gpu_oom"' in before


def test_an_answer_is_changed_in_its_place_and_those_behind_it_stay(client):
    page = client.get("/questions/?oom_kind=gpu_oom&framework=trl&phase=rollout&ask=framework").content.decode()
    assert "Question 2, at most 10" in page
    assert re.findall(r'type="hidden" name="(\w+)"', page) == ["oom_kind", "asked", "phase"]
    changed = client.get("/questions/?oom_kind=gpu_oom&asked=framework&framework=verl&phase=rollout")
    assert asked(changed.content.decode()) not in ("oom_kind", "framework", "phase")


def test_what_was_passed_over_can_be_answered_after_all(client):
    page = client.get("/questions/?oom_kind=gpu_oom&skip=framework").content.decode()
    again = client.get(html.unescape(re.search(r'href="(/questions/[^"]*ask=framework)"', page)[1])).content.decode()
    assert re.search(r'value="unknown" checked', again)
    assert asked(client.get("/questions/?oom_kind=gpu_oom&framework=trl&framework=").content.decode()) == "phase"


def test_a_wrong_answer_to_a_question_asked_once_more_says_the_cure(client):
    page = client.get("/questions/?oom_kind=gpu_oom&asked=n_gpus&n_gpus=0&framework=trl").content.decode()
    assert asked(page) == "n_gpus"
    assert "0 is no answer here" in page


def walk(client, answers: dict[str, str]) -> tuple[list[str], str]:
    """The facts that are asked of somebody who knows these answers and no others, and the address that the questions end at."""
    state, order = "", []
    for _ in range(20):
        response = client.get(f"/questions/?{state}")
        if response.status_code == 302:
            return order, response.url
        order.append(fact := asked(response.content.decode()))
        state += f"&{fact}={answers[fact]}" if fact in answers else f"&skip={fact}"
    raise AssertionError(f"no end: {order}")


RUN = {"oom_kind": "gpu_oom", "model": "Qwen2.5-7B", "n_gpus": "8", "gpu_mem_gib": "80"}


@pytest.mark.parametrize("framework", [slug for slug, one in current().frameworks.items() if not one.fallback])
def test_the_questions_lead_to_an_estimate_with_a_limit_in_every_trainer(client, framework):
    order, url = walk(client, {**RUN, "framework": framework, "phase": "actor_update"})
    assert order[:3] == ["oom_kind", "framework", "phase"]
    assert len(order) <= 10
    page = client.get(url).content.decode()
    assert "the card has" in page
    assert "Cannot tell" not in page


def test_who_knows_what_ran_out_and_on_what_is_asked_for_little_more(client):
    order, _ = walk(
        client, {**RUN, "framework": "verl", "phase": "actor_update", "full_or_lora": "full", "algo": "grpo"}
    )
    assert set(order[:6]) == {"oom_kind", "framework", "phase", "gpu_mem_gib", "n_gpus", "model"}
    assert order[6:8] == ["full_or_lora", "algo"]


@pytest.mark.parametrize(
    "kind", ["host_ram", "host_shm", "memory_growth", "vllm_no_kv_blocks", "vllm_free_memory_too_low"]
)
def test_the_phase_is_asked_of_no_kind_that_it_says_nothing_of(client, kind):
    order, _ = walk(client, {**RUN, "oom_kind": kind, "framework": "verl"})
    assert "phase" not in order


def test_shared_memory_is_asked_for_no_card(client):
    assert walk(client, {"oom_kind": "host_shm", "framework": "verl"})[0] == ["oom_kind", "framework"]


def test_an_engine_without_room_for_its_cache_is_asked_for_what_its_start_hangs_on(client):
    known = {
        **RUN,
        "oom_kind": "vllm_no_kv_blocks",
        "framework": "verl",
        "gpu_memory_utilization": "0.4",
        "rollout_tp": "2",
    }
    order, url = walk(client, known)
    assert {"model", "gpu_mem_gib", "gpu_memory_utilization", "rollout_tp", "engine_version"} <= set(order)
    assert "The engine may take" in client.get(url).content.decode()


def test_a_model_that_nobody_knows_is_asked_for_its_size(client):
    order, _ = walk(client, {**RUN, "model": "foobar", "framework": "verl", "phase": "actor_update"})
    assert order[order.index("model") + 1] == "params_b"


def test_a_question_names_the_key_of_the_persons_own_trainer(client):
    state = "oom_kind=gpu_oom&phase=actor_update&model=Qwen2.5-7B&n_gpus=8&gpu_mem_gib=80&ask=micro_batch"
    for framework, key in (("trl", "per_device_train_batch_size"), ("verl", "ppo_micro_batch_size_per_gpu")):
        assert key in client.get(f"/questions/?framework={framework}&{state}").content.decode()
    other = client.get(f"/questions/?framework=search-r1&{state}").content.decode()
    assert "Its number is another (sequences of all GPUs in one pass;" in other


def test_every_phase_can_be_answered_and_every_size_of_card(client):
    phases = client.get("/questions/?oom_kind=gpu_oom&framework=verl").content.decode()
    assert asked(phases) == "phase"
    assert all(f'value="{phase}"' in phases for phase in PHASES)
    cards = client.get("/questions/?oom_kind=gpu_oom&framework=verl&ask=gpu_mem_gib").content.decode()
    assert re.search(r'<input class="in answer"[^>]* name="gpu_mem_gib"', cards)


def test_every_trainer_of_the_catalogue_can_be_chosen():
    offered = {option.value for option in current().questions["framework"].options}
    assert set(current().frameworks) <= offered


def test_a_choice_outranks_what_was_passed_over_and_the_other_way_round():
    assert read_answers([("skip", "algo"), ("algo", "grpo")]).skipped == ()
    assert read_answers([("algo", "grpo"), ("skip", "algo")]).values == {}


def test_answering_nothing_says_what_to_bring(client):
    state = ""
    for _ in range(12):
        page = client.get(f"/questions/?{state}").content.decode()
        if 'name="asked"' not in page:
            break
        state += f"&skip={asked(page)}"
    assert "Nothing was answered" in page
    assert "launch command" in page


@pytest.mark.parametrize("question", current().questions.values(), ids=lambda question: question.slug)
def test_every_question_can_be_answered_or_says_how_to_find_out(question):
    shown = ask(untried(question, Facts()), Facts(), Answers())
    assert [option.value for option in shown.options] == [option.value for option in question.options]
    assert shown.options or shown.find_out or shown.hint


def test_a_head_request_is_answered_as_a_get(client):
    assert client.head("/questions/").status_code == 200


@pytest.mark.parametrize(("language", "there"), [("zh-CN,zh;q=0.9,en;q=0.8", True), ("en-GB,zh;q=0.5", False)])
def test_a_question_is_asked_in_chinese_too_of_a_browser_that_prefers_it(client, language, there):
    page = client.get("/questions/?oom_kind=gpu_oom", headers={"Accept-Language": language})
    assert ("用的是哪个训练框架？" in page.content.decode()) is there
    assert "Accept-Language" in page.headers["Vary"]


def test_a_key_that_only_forks_of_the_trainer_have_is_not_named():
    """max_pixels of TRL: its forks that read images set it, and plain TRL has no such key."""
    facts = read_facts(read(""), {"framework": "trl", "model": "Qwen2.5-VL-7B-Instruct"}, current())
    assert not ask(untried(current().questions["max_pixels"], facts), facts, Answers()).keys
    set_by_one = read_facts(read(""), {"framework": "r1-v", "model": "Qwen2.5-VL-7B-Instruct"}, current())
    assert ask(untried(current().questions["max_pixels"], set_by_one), set_by_one, Answers()).keys == ("max_pixels",)
