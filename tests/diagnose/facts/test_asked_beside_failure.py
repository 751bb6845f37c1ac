"""A question whether something fits, beside a failure, is one about the next run."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose


@pytest.mark.parametrize(
    "text",
    [
        "TRL SFT full fine-tune of Qwen2.5-7B on one 4090: CUDA out of memory. would it fit with LoRA?",
        "TRL SFT 全参微调 Qwen2.5-7B，单卡4090，爆显存了。用LoRA能跑吗？",
    ],
)
def test_a_run_that_failed_is_not_said_to_have_not_run(text: str) -> None:
    facts = diagnose(text, {}, current(), ()).facts
    assert "oom_kind" in facts.values
    assert "planned" not in facts.values


def test_a_run_that_is_only_asked_about_has_not_run() -> None:
    facts = diagnose("TRL SFT of Qwen2.5-7B on one 4090: would it fit with LoRA?", {}, current(), ()).facts
    assert facts.values["planned"] is True
