"""Several tries in one text: the message, the share and the settings of the one that is asked about count."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

COMMAND = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-3B-Instruct "
    "actor_rollout_ref.rollout.gpu_memory_utilization=0.5 trainer.n_gpus_per_node=2 trainer.nnodes=1\n\n"
)
START = (
    "ValueError: Free memory on device (20.10/39.39 GiB) on startup is less than desired GPU memory utilization "
    "({share}, 31.5 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
)
BACKWARD = (
    '  File "/opt/verl/workers/actor/dp_actor.py", line 512, in update_policy\n    loss.backward()\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB "
    "of which 1.10 GiB is free.\n"
)


def read(text: str):
    knowledge = current()
    return diagnose(text, {}, knowledge, ())


def test_a_start_with_another_share_than_the_commands_was_another_try():
    facts = read(COMMAND + START.format(share="0.8") + "that was the first try, now:\n" + BACKWARD).facts
    assert (facts.values["oom_kind"], facts.values["phase"]) == ("gpu_oom", "actor_update")
    assert (facts.values["gpu_memory_utilization"], facts.number("gpu_free_gib")) == (0.5, 1.1)


def test_a_start_with_the_commands_share_counts():
    assert read(COMMAND + START.format(share="0.5") + BACKWARD).facts.values["oom_kind"] == "vllm_free_memory_too_low"


def test_a_start_alone_counts_whatever_share_it_prints():
    assert read(COMMAND + START.format(share="0.8")).facts.values["oom_kind"] == "vllm_free_memory_too_low"


@pytest.mark.parametrize("words", ["If I go to 0.6 I get", "When we raised it to 0.6 it says", "调到 0.6 就报"])
def test_the_share_that_was_tried_last_is_that_of_the_message(words):
    told = "the models's max seq len (32768), 4.50 GiB KV cache is needed, which is larger than the available KV cache memory (3.12 GiB)"
    text = f'{COMMAND}ValueError: No available memory for the cache blocks.\n\n{words} "To serve at least one request with {told}"'
    assert read(text).facts.values["gpu_memory_utilization"] == 0.6


def test_a_share_that_is_only_planned_is_not_that_of_the_run():
    text = f"{COMMAND}CUDA out of memory. Should I go to 0.4?"
    assert read(text).facts.values["gpu_memory_utilization"] == 0.5


def test_what_a_listed_run_that_works_has_the_failing_one_has_not():
    text = (
        "verl, Qwen2.5-7B on 8 H100.\nrun 1:\n" + BACKWARD + "\nrun 2 (works, but slow): "
        "actor_rollout_ref.actor.fsdp_config.param_offload=True actor_rollout_ref.actor.fsdp_config.optimizer_offload=True\n"
    )
    diagnosis = read(text)
    assert "param_offload" not in diagnosis.facts.stated or diagnosis.facts.values["param_offload"] is False
    assert {one.lever.slug for one in diagnosis.not_advised if one.reason == "cured"} >= {"offload.optimizer.on"}


@pytest.mark.parametrize(
    "words",
    [
        "Lowering gpu_memory_utilization to 0.4 makes it run but slowly, is there a better way?",
        "With gpu_memory_utilization lowered to 0.4 I got it through, what else can I do?",
    ],
)
def test_what_is_asked_behind_a_cure_takes_nothing_from_it(words):
    cured = [one for one in read(f"{COMMAND}CUDA out of memory in wake_up. {words}").facts.tried if one.cured]
    assert [one.lever for one in cured] == ["rollout.gpu_memory_utilization.down"]


def test_a_cure_that_is_asked_about_is_none():
    words = "Would lowering gpu_memory_utilization to 0.4 make it run, or is it fixed in main?"
    assert not [one for one in read(f"{COMMAND}CUDA out of memory. {words}").facts.tried if one.cured]
