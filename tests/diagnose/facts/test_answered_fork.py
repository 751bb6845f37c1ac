"""A person who names the framework has not denied the fork of it that the paste shows."""

from __future__ import annotations

import pytest

from diagnose.facts.trainer.framework import detect
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.types import Fact

VIDEO = "torchrun --nproc_per_node=4 src/open_r1_video/grpo.py --model_name_or_path Qwen/Qwen2-VL-7B-Instruct"


@pytest.mark.parametrize(
    ("text", "answer", "fork"),
    [
        (VIDEO, "trl", "open-r1-video"),
        (VIDEO, "r1-v", "r1-v"),  # the fork that is answered is meant
        (VIDEO, "verl", None),  # another framework is meant
        ("we compared it with Open-R1-Video", "trl", None),  # no more than a name
        ("trl grpo --model_name_or_path Qwen/Qwen2.5-7B", "trl", None),
        ("uv run rl @ rl.toml", "plain", None),
    ],
)
def test_the_fork_of_an_answered_framework_is_that_of_which_the_paste_bears_a_mark(
    text: str, answer: str, fork: str | None
) -> None:
    found = detect(read(text), Fact("framework", answer, "answered"), current())
    assert (found.fork.id if found.fork else None) == fork
