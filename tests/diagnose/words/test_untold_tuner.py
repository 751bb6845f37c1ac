"""Adapters that nobody asked for: a run that fits by them alone is told so."""

from __future__ import annotations

import pytest

from diagnose.knowledge import Knowledge, current
from diagnose.pipeline import diagnose
from diagnose.report import to_markdown
from diagnose.words.headline import headline

ASKED = "Does LLaMA-Factory SFT of Qwen3-14B fit 8 x RTX 4090? zero3, cutoff 4096, bs 1{tuner}"


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return current()


def test_a_default_of_adapters_is_told_where_all_parameters_run_out(knowledge: Knowledge) -> None:
    found = diagnose(ASKED.format(tuner=""), {}, knowledge, ())
    assert headline(found).startswith("By the estimate it fits with adapters;")
    assert "LLaMA-Factory trains adapters by default; with all of them it would be" in to_markdown(found)


@pytest.mark.parametrize("tuner", [", LoRA rank 8", ", full fine-tuning"])
def test_what_is_told_is_not(knowledge: Knowledge, tuner: str) -> None:
    found = diagnose(ASKED.format(tuner=tuner), {}, knowledge, ())
    assert "with adapters" not in headline(found)
    assert "by default; with all of them" not in to_markdown(found)


def test_a_reader_of_chinese_is_told_as_well(knowledge: Knowledge) -> None:
    found = diagnose("qwen3-14b sft llamafactory zero3 8卡4090 cutoff 4096 bs1 能跑吗", {}, knowledge, ())
    told = to_markdown(found)
    assert "按估算用 LoRA 放得下" in told
    assert "没有说明是否训练全部参数" in told
