"""Answers in a form and in the address."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

from diagnose.knowledge.records import Detect, Fork
from diagnose.types import Fact, Facts
from diagnose.vocabulary import FACTS
from tests import samples
from wizard import state


def test_it_refuses_what_does_not_fit_and_keeps_the_words():
    answers = state.read_answers([("host_ram_gb", "760 cores")])
    assert answers.values == {}
    assert "760 cores" in answers.errors["host_ram_gb"]
    assert answers.written["host_ram_gb"] == "760 cores"


def test_it_passes_over_names_that_are_no_fact():
    assert state.read_answers([("utm_source", "mail"), ("csrfmiddlewaretoken", "x")]).values == {}


def test_an_empty_field_says_nothing():
    assert state.read_answers([("n_gpus", "4"), ("n_gpus", "")]).values == {"n_gpus": 4}


def test_a_later_answer_outranks_an_earlier_one():
    assert state.read_answers([("n_gpus", "4"), ("n_gpus", "8")]).values == {"n_gpus": 8}


def test_dont_know_passes_the_question_over():
    answers = state.read_answers([("phase", "unknown"), ("skip", "model"), ("skip", "nonsense")])
    assert answers.skipped == ("phase", "model")


def test_a_card_with_its_size_gives_two_facts():
    assert state.read_answers([("card", "A100:80")]).values == {"gpu_model": "A100", "gpu_mem_gib": 80}


def test_one_field_sets_a_fact_of_the_readers_choice():
    assert state.read_answers([("other", "sleep_level"), ("other_value", "2")]).values == {"sleep_level": 2}
    assert state.read_answers([("other", ""), ("other_value", "2")]).values == {}


@pytest.mark.parametrize(
    ("id", "value"),
    [
        ("n_gpus", 8),
        ("gpu_memory_utilization", 0.6),
        ("remove_padding", True),
        ("param_offload", False),
        ("oom_kind", "host_ram"),
    ],
)
def test_an_answer_comes_back_from_the_address_as_it_went_in(id, value):
    assert state.read_answers(parse_qsl(state.query({id: value}))).values == {id: value}


def test_the_address_holds_only_names_of_the_vocabulary():
    names = [name for name, _ in parse_qsl(state.query(state.certain(samples.diagnosis())))]
    assert names
    assert set(names) <= set(FACTS)


def test_the_address_holds_nothing_that_was_assumed():
    certain = state.certain(samples.diagnosis())
    assert "real_response_length" not in certain
    assert "fused_optimizer" not in certain
    assert certain["gradient_checkpointing"] == "true"


def test_the_address_names_a_fork_and_not_its_base():
    fork = Fork(id="plume", title="Plume", source="https://example.org", detect=Detect(), says="Its own loop.")
    diagnosis = samples.diagnosis()
    fact = Fact("framework", "quill", "read")
    facts = Facts(stated={"framework": fact}, values={"framework": "quill"}, fork=fork)
    object.__setattr__(diagnosis, "facts", facts)
    assert state.certain(diagnosis) == {"framework": "plume"}


def test_the_address_names_the_data_sets_of_the_catalogue_and_no_others():
    diagnosis = samples.diagnosis()
    fact = Fact("dataset", "our-company/secret#50 org/open#50", "read")
    for known, held in (((), {}), (("org/open#50",), {"dataset": "org/open#50"})):
        facts = Facts(stated={"dataset": fact}, values={"dataset": fact.value}, datasets=known)
        object.__setattr__(diagnosis, "facts", facts)
        assert state.certain(diagnosis) == held


def test_words_that_only_the_paste_knows_stay_out_of_the_address():
    fact = Fact("model", "our-company/secret-merge-7b", "read")
    diagnosis = samples.diagnosis()
    object.__setattr__(diagnosis, "facts", Facts(stated={"model": fact}, values={"model": fact.value}))
    assert state.certain(diagnosis) == {}
