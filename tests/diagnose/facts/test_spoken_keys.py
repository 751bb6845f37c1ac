"""A framework's own keys with their words apart, as people write them in a sentence."""

import pytest

VERL = "verl grpo Qwen3-8B, 8*A100 80G, "


@pytest.mark.parametrize(
    ("text", "id", "value"),
    [
        (f"{VERL}train batch size 256", "train_batch_size", 256),
        (f"{VERL}train-batch-size = 1,024", "train_batch_size", 1024),
        (f"{VERL}enforce eager on", "enforce_eager", True),
        (f"{VERL}enforce eager disabled", "enforce_eager", False),
        (f"{VERL}max model len 8k", "max_model_len", 8192),
        (f"{VERL}max num seqs=128", "max_num_seqs", 128),
        (f"{VERL}ppo mini batch size 设为 64", "mini_batch_size", 64),
        ("trl grpo Qwen3-8B 8*A100, num generations 16", "rollout_n", 16),
    ],
)
def test_a_keys_words_apart_are_the_key(facts, text, id, value):
    found = facts(f"{text}\nCUDA out of memory").stated[id]
    assert (found.value, found.origin) == (value, "read")
    assert found.span is not None


@pytest.mark.parametrize(
    "text",
    [
        f"{VERL}I tried max num seqs 64",
        f"{VERL}should I set max num seqs to 64?",
        f"{VERL}max num seqs 64, later max num seqs 32",
        f"{VERL}max num seqs 64%",
        "slime grpo Qwen3-8B, 8*A100, max num seqs 64",  # no key of its own
    ],
)
def test_what_is_tried_asked_said_twice_or_no_key_is_none(facts, text):
    found = facts(f"{text}\nCUDA out of memory").stated.get("max_num_seqs")
    assert found is None or found.origin != "read"


def test_words_that_several_keys_share_are_left_alone(facts):
    found = facts(f"{VERL}tensor model parallel size 4\nCUDA out of memory").stated
    assert found["rollout_tp"].origin == "default"
    assert "tp" not in found


@pytest.mark.parametrize(
    ("words", "share"),
    [
        ("gpu util 0.8", 0.8),
        ("gpu memory utilization at 0.6", 0.6),
        ("mem fraction static 0.7", 0.7),
        ("显存利用率0.7", 0.7),
        ("gpu利用率设的0.6", 0.6),
        ("GPU util 95%", None),
        ("cpu memory utilization 0.95", None),
        ("I tried gpu memory utilization 0.4", None),
    ],
)
def test_the_engines_share_is_read_in_words(facts, words, share):
    found = facts(f"{VERL}{words}\nCUDA out of memory").stated["gpu_memory_utilization"]
    assert (found.value if found.origin == "read" else None) == share


def test_a_row_of_a_file_whose_key_the_trainer_knows_is_no_sentence(values):
    text = "megatron_training:\n  stage: ray_grpo\n  seq_length: 2048\nrl_config:\n  max_prompt_length: 2048\nCUDA OOM"
    found = values(text)
    assert found["framework"] == "mindspeed-rl"
    assert "max_length" not in found
    assert values(text.replace("ray_grpo", "dpo"))["max_length"] == 2048


@pytest.mark.parametrize("size", ["sixteen", "16"])
def test_a_size_may_be_a_word(values, size):
    assert values(f"OpenRLHF, 3B, micro rollout batch size {size}, CUDA OOM")["logprob_micro_batch"] == 16
