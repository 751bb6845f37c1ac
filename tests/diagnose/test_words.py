import pytest

from diagnose import words


@pytest.mark.parametrize(
    ("id", "value", "said"),
    [
        ("gradient_checkpointing", True, "on"),
        ("has_critic", False, "no"),
        ("params_b", 7, "7\u00a0billion"),
        ("response_length", 2048, "2,048\u00a0tokens"),
        ("full_or_lora", "lora", "LoRA"),
        ("gpu_memory_utilization", 0.85, "0.85"),
        ("model", "Qwen2.5-7B", "Qwen2.5-7B"),
    ],
)
def test_a_value_is_said_as_people_say_it(id, value, said):
    assert words.value_words(id, value) == said


@pytest.mark.parametrize(
    ("title", "said"),
    [("GPUs of the whole run", "GPUs of the whole run"), ("Adam state", "Adam state"), ("Model", "model")],
)
def test_a_title_in_a_sentence_keeps_its_abbreviations(title, said):
    assert words.in_sentence(title) == said
