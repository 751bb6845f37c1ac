"""What is said where a program's message leaves the cause open, and where memory grows and nobody says which."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.words import chinese, lead
from diagnose.words.headline import headline

DIED = "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task."
HUNG = "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE) ran for 600012 milliseconds"


def _told(text, **answers):
    return diagnose(text, answers, current(), ())


def test_a_worker_that_died_is_not_said_to_have_run_out_of_memory():
    found = _told(f"verl, 8 x A100\n{DIED}")
    assert found.kind == "other"
    assert headline(found) == "Something failed; the text does not say whether memory ran out"
    assert "没有说明是否内存耗尽" in chinese.headline(found)


def test_a_person_who_says_oom_is_believed_though_the_message_is_open():
    assert headline(_told(f"OOM again\n{DIED}")).startswith("Something ran out of memory")


def test_a_time_out_beside_a_death_is_told_before_any_advice():
    assert lead(_told(f"{HUNG}\n{DIED}")).startswith("One rank waited for others")


@pytest.mark.parametrize(
    ("text", "pool"),
    [
        ("verl GRPO, memory grows every step and then it crashes", None),
        ("memory grows every step until the pod is gone\nreason: OOMKilled", "host"),
        ("memory grows every step\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "gpu"),
        (
            "CPU memory grows every step\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
            "host",
        ),
    ],
)
def test_of_what_grows_the_words_count_and_then_the_message_of_the_end(text, pool):
    found = _told(text)
    assert found.kind == "memory_growth"
    assert found.pool == pool


def test_it_asks_which_memory_grows_and_believes_the_answer():
    text = "verl GRPO Qwen2.5-7B, memory grows every step and then it crashes, 8xH100"
    assert _told(text).questions[0].question.fact == "growing_pool"
    answered = _told(text, growing_pool="host")
    assert headline(answered).startswith("Host RAM grows")
    assert "growing_pool" not in [one.question.fact for one in answered.questions]
    assert "allocator.empty_cache" not in [one.lever.slug for one in answered.prescriptions]
