"""Of several attempts the last one that failed is the run, and it keeps what it does not change."""

from __future__ import annotations

FIRST = "TRL GRPO, Qwen2.5-7B, trl 0.18.0\nAttempt 1: per_device_train_batch_size 4, max_completion_length 4096, zero2: OOM in backward.\n"


def test_what_the_last_attempt_names_is_its_own_and_the_rest_is_kept(values):
    found = values(FIRST + "Attempt 2 (now): zero3, batch 1, everything else the same. CUDA OOM again.\n\nAny idea?")
    assert (found["zero_stage"], found["micro_batch"], found["response_length"]) == (3, 1, 4096)


def test_an_attempt_that_worked_is_not_the_run_that_failed(values):
    found = values(FIRST + "Attempt 2: batch 1, works fine")
    assert (found["zero_stage"], found["micro_batch"]) == (2, 4)


def test_attempts_are_told_in_chinese_as_well(values):
    text = "TRL GRPO Qwen2.5-7B\n第一次：per_device_train_batch_size=4，OOM\n第二次：per_device_train_batch_size=2，还是 OOM"
    assert values(text)["micro_batch"] == 2


def test_numbers_that_do_not_go_up_are_no_attempts(values):
    text = "TRL GRPO Qwen2.5-7B\nRun 7: per_device_train_batch_size=4 OOM\nRun 3: gradient_accumulation_steps=2 OOM"
    assert values(text)["micro_batch"] == 4
