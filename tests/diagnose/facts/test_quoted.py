"""Whose failure it is, where a reply quotes another's words."""

from __future__ import annotations

import pytest

from diagnose.facts.whose_run.quoted import without_quoted
from diagnose.ingest import read

THEIRS = "> I get CUDA out of memory with verl GRPO on 8xA100 with Qwen2.5-7B in update_actor.\n"
MINE = "\nFor me it goes OOM on 4x RTX 4090 with Qwen2.5-1.5B, TRL GRPO.\n"
LOG = (
    "> Traceback (most recent call last):\n> torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.50 GiB.\n"
)


@pytest.mark.parametrize(
    "theirs",
    [
        THEIRS,
        "On Tue, Mar 4, 2025 at 10:12 AM Alice wrote:\n" + THEIRS,
        "@alice wrote:\n> 32 H100 with OpenRLHF and Qwen2.5-32B, the critic goes OOM\n",
        "张三 写道：\n> 8xA100 跑 Qwen2.5-32B verl grpo 会 OOM\n",
    ],
)
def test_a_reply_with_a_failure_of_its_own_tells_of_its_own_run(values, theirs):
    found = values(theirs + MINE)
    told = (found["framework"], found["gpu_model"], found["n_gpus"], found["model"])
    assert told == ("trl", "RTX 4090", 4, "Qwen2.5-1.5B")
    assert "phase" not in found


def test_a_message_below_a_line_is_anothers(values):
    found = values(f"{MINE}\n-----Original Message-----\nFrom: Bob\nverl GRPO on 8xA100 with Qwen2.5-32B is OOM")
    assert (found["framework"], found["n_gpus"]) == ("trl", 4)


def test_who_has_the_same_has_the_failure_and_no_more_of_it(values):
    found = values(THEIRS + "\nSame here, but with TRL on 4xH100, Qwen3-4B.")
    told = (found["oom_kind"], found["framework"], found["gpu_model"], found["n_gpus"], found["model"])
    assert told == ("gpu_oom", "trl", "H100", 4, "Qwen3-4B")
    assert "phase" not in found


def test_a_question_that_is_quoted_asks_for_nothing_of_the_writer(values):
    found = values("> How many GPUs do you need?\n\n2 A100 80GB, verl\n\nIt goes OOM in update_actor")
    assert found["n_gpus"] == 2
    assert "asks_hardware" not in found


@pytest.mark.parametrize(
    "text",
    [
        THEIRS + "\nTry a lower gpu_memory_utilization.\n",
        "Could you share the full log?\n\nOn Fri, 5 Sep 2025, Chen wrote:\n" + THEIRS,
        "It goes OOM with this error:\n" + LOG,
        THEIRS + "\nUpdate: it goes OOM with 16 cards as well\n",
        THEIRS,
        "> python train.py \\\n> --model a/b \\\n> --lr 1e-6\nOOM\n",
    ],
)
def test_a_quote_that_is_the_run_in_question_stays(text):
    paste = read(text)
    assert without_quoted(paste) == paste
