"""Answers that do not go together are told, with what is counted."""

import pytest

RUN = {"framework": "trl", "algo": "sft", "model": "Qwen2.5-7B", "n_gpus": 8}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"full_or_lora": "full", "quantization": "nf4"}, "not in nf4"),
        ({"full_or_lora": "qlora", "quantization": "none"}, "it is counted with nf4"),
        ({"full_or_lora": "full", "lora_rank": 32}, "no adapters are counted"),
        ({"params_b": 14}, "has 7.62 billion parameters, and not 14"),
        ({"ep": 8}, "has no experts: Expert parallel 8 spreads nothing"),
        ({"n_nodes": 3}, "8 GPUs do not divide by 3 nodes"),
    ],
)
def test_it_says_what_does_not_go_together(facts, more, words):
    assert any(words in note for note in facts("", **RUN, **more).notes)


@pytest.mark.parametrize(
    "more",
    [
        {"full_or_lora": "lora", "lora_rank": 32},
        {"full_or_lora": "qlora", "quantization": "nf4"},
        {"full_or_lora": "full", "quantization": "none"},
        {"full_or_lora": "full", "lora_rank": 0},
        {"params_b": 7},
        {"params_b": 8.3},
        {"ep": 1},
        {"n_nodes": 2},
    ],
)
def test_it_says_nothing_of_answers_that_do(facts, more):
    assert facts("", **RUN, **more).notes == ()
