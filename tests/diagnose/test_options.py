"""The options of a question against what the text says already."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.words import worst

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


_BY_SIZE = (
    "MindSpeed-RL 910B 64G 8卡 qwen25-7b grpo NPU out of memory. Tried to allocate 3.20 GiB (NPU 2; 60.97 GiB total capacity; "
    "52.11 GiB already allocated; 1.80 GiB free; 56.21 GiB reserved in total by PyTorch)"
)


def test_no_phase_is_offered_that_the_size_rules_out():
    offered = options_of(_BY_SIZE, "phase")
    assert "ref_logprob" in offered  # of which the lead tells
    assert "rollout" not in offered


def test_an_option_tells_the_phase_of_which_its_answer_tells():
    answer = diagnose(_BY_SIZE, {}, current(), ())
    asked = next(one for one in answer.questions if one.question.fact == "full_or_lora")
    for value, _, says in asked.options:
        changed = diagnose(_BY_SIZE, {"full_or_lora": value}, current(), ())
        assert says.split(" GiB")[0] == worst(changed, changed.estimate.gpu).shown


def test_what_moves_a_phase_that_is_ruled_out_is_not_asked():
    facts = {one.question.fact for one in diagnose(_BY_SIZE, {}, current(), ()).questions}
    assert "gpu_memory_utilization" not in facts
