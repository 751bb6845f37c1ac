"""The options of a question against what the text says already."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

_OF_START = {"vllm_no_kv_blocks", "vllm_free_memory_too_low"}


def options_of(text, fact):
    questions = diagnose(text, {}, current(), ()).questions
    return next({option[0] for option in one.options} for one in questions if one.question.fact == fact)


@pytest.mark.parametrize(
    "text",
    [
        "verl grpo 7B 8xA100, OOM in compute_log_prob",
        "verl grpo 7B 8xA100, update_actor 爆了",
        "OpenRLHF 8B 8xH200, step 1 went fine, it OOMs on step 2 in vllm wake up",
        "llamafactory DPO 7B 4xA100 40G, oom",
    ],
)
def test_an_engine_that_has_started_or_is_none_is_no_option_of_what_ran_out(text):
    assert not _OF_START & options_of(text, "oom_kind")


@pytest.mark.parametrize("text", ["verl grpo 7B 8xA100, OOM", "verl grpo 7B 8xA100, it OOMs at step 1"])
def test_an_engine_may_not_have_started_where_nothing_says_it_did(text):
    assert options_of(text, "oom_kind") >= _OF_START | {"gpu_oom", "host_ram"}
