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


@pytest.mark.parametrize("asked", ["是显存不够吗？", "是内存不够么？"])
def test_who_asks_whether_memory_was_too_little_asks_of_a_run_that_failed(asked: str) -> None:
    facts = diagnose(
        f"slime 跑了 100 多步\nCUDA error: an illegal memory access was encountered\n{asked}", {}, current(), ()
    ).facts
    assert "planned" not in facts.values
    assert "oom_kind" not in facts.values


_RUN = (
    "CUDA out of memory. Tried to allocate 150.00 MiB. 单卡3090\n"
    "llamafactory-cli train --stage ppo --model_name_or_path Qwen/Qwen-7B-Chat --finetuning_type lora\n"
)


@pytest.mark.parametrize(
    "asked",
    [
        "请问用 quantization_bit 4 可以吗",
        "请问 quantization_bit: 4 行不行",
        "是不是需要开 quantization_bit 4",
        "还是说要加 --quantization_bit 4 ？",
        "Is --quantization_bit 4 supported with ppo?",
    ],
)
def test_a_setting_that_somebody_asks_about_is_not_one_of_the_run(asked: str) -> None:
    assert diagnose(_RUN + asked, {}, current(), ()).facts.values["full_or_lora"] == "lora"


@pytest.mark.parametrize(
    "told", ["我现在用 quantization_bit 4 可以吗", "I already set quantization_bit 4, is it supported?"]
)
def test_a_setting_that_is_made_stays_one_in_a_question(told: str) -> None:
    assert diagnose(_RUN + told, {}, current(), ()).facts.values["full_or_lora"] == "qlora"
