"""Remarks beside a message that tell what the run was at, without a word of failure."""

import pytest

FULL = "Your session crashed after using all available RAM.\n"
CARD = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


@pytest.mark.parametrize(
    "remark",
    [
        "I was loading google/gemma-3-27b-it every time before, now 4bit",
        "Yesterday we were loading Qwen3-8B without trouble, last week too, each time",
        "this is ref compute_log_prob, I think",
    ],
)
def test_what_was_done_before_or_by_another_role_is_no_moment(values, remark):
    assert values(FULL + remark).get("phase") not in ("load", "logprob")


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        (FULL + "I was loading google/gemma-3-27b-it with trl for DPO.", "load"),
        (FULL + "we were just loading the model", "load"),
        (CARD + "this is actor compute_log_prob.", "logprob"),
        (CARD + "that's the worker's update_actor", "actor_update"),
    ],
)
def test_somebody_tells_what_the_run_was_at(values, text, phase):
    assert values(text)["phase"] == phase
