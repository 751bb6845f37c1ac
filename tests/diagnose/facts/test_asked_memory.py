"""Questions of the memory that a run would take: what the run is to have is told in them, and one card is taken where none is counted."""

import pytest

HOW_MUCH = "how much VRAM do I need to GRPO fine-tune Llama 3.1 8B with LoRA rank 16, 8 generations, 1024 completion length, using TRL?"


@pytest.mark.parametrize(
    ("said", "mode"),
    [
        ("will Qwen2.5-7B GRPO fit on 2x4090 with LoRA?", "lora"),
        ("Does Qwen2.5-7B GRPO fit on 2x4090 using QLoRA?", "qlora"),
        ("2x4090 能跑 Qwen2.5-7B GRPO 吗，用LoRA？", "lora"),
        ("Qwen2.5-7B GRPO CUDA out of memory on 2x4090. Would it fit with LoRA?", None),
        ("Qwen2.5-7B GRPO on 2x4090, will it fit? LoRA?", None),
    ],
)
def test_a_run_that_is_asked_about_has_the_adapters_it_is_asked_with(values, said, mode):
    assert values(said).get("full_or_lora") == mode


def test_what_a_question_of_memory_names_is_what_the_run_is_to_have(values):
    found = values(HOW_MUCH)
    assert (found["lora_rank"], found["rollout_n"], found["response_length"]) == (16, 8, 1024)


def test_a_count_of_answers_is_told_in_chinese(values):
    assert values("Qwen2.5-7B LoRA GRPO，每个prompt 8个回答，回答长度2048，需要多大显存？")["rollout_n"] == 8


@pytest.mark.parametrize(
    "said", [HOW_MUCH, "请问LoRA微调Qwen2.5-14B要多少显存？", "how much VRAM for QLoRA of Llama-3.1-8B?"]
)
def test_where_the_memory_is_asked_for_it_is_that_of_one_card(facts, said):
    cards = facts(said).stated["n_gpus"]
    assert (cards.value, cards.origin) == (1, "assumed")


@pytest.mark.parametrize(
    "said",
    [
        "How many A100 do I need for GRPO of Qwen2.5-32B, and how much VRAM?",
        "how much memory does vllm need for Qwen2.5-7B",
        "how much VRAM does multi-GPU GRPO of Qwen2.5-7B take?",
        "GRPO of Qwen2.5-7B: CUDA out of memory. How much VRAM does it need?",
    ],
)
def test_no_card_is_taken_where_they_are_counted_or_nothing_is_trained(values, said):
    assert "n_gpus" not in values(said)
